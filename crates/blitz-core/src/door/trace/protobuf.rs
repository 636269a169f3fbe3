//! The part of the protobuf wire format that is needed for writing.

#![forbid(unsafe_code)]

/// A message that is being written.
#[derive(Default)]
pub(super) struct Message(Vec<u8>);

/// How the value of a field is written.
#[derive(Clone, Copy)]
enum Wire {
    Varint = 0,
    Fixed64 = 1,
    Bytes = 2,
}

impl Message {
    /// Adds a number.
    pub(super) fn number(mut self, field: u32, value: u64) -> Message {
        self.tag(field, Wire::Varint);
        self.varint(value);
        self
    }

    /// Adds a number in eight bytes.
    pub(super) fn fixed64(mut self, field: u32, value: u64) -> Message {
        self.tag(field, Wire::Fixed64);
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(super) fn text(self, field: u32, value: &str) -> Message {
        self.bytes(field, value.as_bytes())
    }

    pub(super) fn message(self, field: u32, value: &Message) -> Message {
        self.bytes(field, &value.0)
    }

    fn bytes(mut self, field: u32, value: &[u8]) -> Message {
        self.tag(field, Wire::Bytes);
        self.varint(value.len() as u64);
        self.0.extend(value);
        self
    }

    fn tag(&mut self, field: u32, wire: Wire) {
        self.varint(u64::from(field) << 3 | wire as u64);
    }

    /// Seven bits per byte, the lowest first; each byte but the last has its upper bit set.
    fn varint(&mut self, mut value: u64) {
        while value >= 1 << 7 {
            self.0.push(value.to_le_bytes()[0] | 1 << 7);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes()[0]);
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::Message;

    #[test]
    fn fields_are_written_as_the_format_says() {
        // The examples of the format's documentation.
        assert_eq!(Message::default().number(1, 150).into_bytes(), [0x08, 0x96, 0x01]);
        let text = Message::default().text(2, "testing").into_bytes();
        assert_eq!(text, [0x12, 7, b't', b'e', b's', b't', b'i', b'n', b'g']);
        let inner = Message::default().number(1, 150);
        let outer = Message::default().message(3, &inner).into_bytes();
        assert_eq!(outer, [0x1a, 3, 0x08, 0x96, 0x01]);
        let fixed = Message::default().fixed64(47, 1).into_bytes();
        assert_eq!(fixed, [0xf9, 0x02, 1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(Message::default().number(1, u64::MAX).into_bytes().len(), 11);
    }
}
