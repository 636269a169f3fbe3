//! Reports of stuck workers, as JSON.

#![forbid(unsafe_code)]

use super::dump::json::{list, object, string};
use crate::state::{StallReport, StalledTask};

impl StallReport {
    /// Returns the report as one line of JSON.
    ///
    /// Its fields are `worker`, `tid`, `task`, `since_ns`, `kind`, `syscall`, `wchan`, `behind` and
    /// `events`. `task` is an object with `id`, `type`, `site` and, if the task has one, `name`. It
    /// is missing if the worker runs a job. `tid`, `syscall` and `wchan` are missing if the system
    /// does not report them. 64-bit numbers are strings.
    #[must_use]
    pub fn to_json(&self) -> String {
        let text = |value: &Option<String>| value.as_deref().map(string);
        let fields = [
            ("worker", Some(self.worker.to_string())),
            ("tid", self.thread.map(|thread| thread.to_string())),
            ("task", self.task.as_ref().map(task)),
            ("since_ns", Some(string(&self.length.as_nanos().to_string()))),
            ("kind", Some(string(self.kind.name()))),
            ("syscall", text(&self.call)),
            ("wchan", text(&self.channel)),
            ("behind", Some(self.behind.to_string())),
            ("events", Some(list(self.events.iter().map(|event| string(event))))),
        ];
        object(fields.into_iter().filter_map(|(name, value)| Some((name, value?))))
    }
}

fn task(task: &StalledTask) -> String {
    let name = task.name.as_deref().map(|name| ("name", string(name)));
    let fields = [
        ("id", string(&task.id.to_string())),
        ("type", string(task.type_name)),
        ("site", string(&task.site.to_string())),
    ];
    object(fields.into_iter().chain(name))
}
