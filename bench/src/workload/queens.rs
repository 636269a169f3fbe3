//! All solutions of the n-queens problem: irregular, with little work between two forks.

use super::batch::ForkJoin;
use crate::rival::Rival;

pub(super) struct Queens {
    board: u32,
}

impl Queens {
    pub(super) fn new(n: u32) -> Result<Self, String> {
        match n {
            1..=16 => Ok(Self { board: (1 << n) - 1 }),
            _ => Err(format!("a board must be 1 to 16 wide, not {n}")),
        }
    }
}

impl ForkJoin for Queens {
    fn run<R: Rival>(&self, ctx: &mut R::Ctx<'_>) -> u64 {
        let empty = Attacked { columns: 0, left: 0, right: 0 };
        solutions::<R>(ctx, self.board, empty)
    }
}

/// The squares of the next row that earlier queens attack, one bit per column.
#[derive(Clone, Copy)]
struct Attacked {
    columns: u32,
    left: u32,
    right: u32,
}

impl Attacked {
    /// Returns the attacks on the next row, once this row has a queen on `square`.
    fn after(self, square: u32) -> Self {
        Self {
            columns: self.columns | square,
            left: (self.left | square) << 1,
            right: (self.right | square) >> 1,
        }
    }
}

fn solutions<R: Rival>(ctx: &mut R::Ctx<'_>, board: u32, attacked: Attacked) -> u64 {
    if attacked.columns == board {
        return 1;
    }
    let free = board & !(attacked.columns | attacked.left | attacked.right);
    row::<R>(ctx, board, attacked, free)
}

/// Counts the solutions with a queen on any of the `free` squares of one row: a fork separates the
/// lowest square from the others.
fn row<R: Rival>(ctx: &mut R::Ctx<'_>, board: u32, attacked: Attacked, free: u32) -> u64 {
    if free == 0 {
        return 0;
    }
    let square = free & free.wrapping_neg();
    let others = free ^ square;
    if others == 0 {
        return solutions::<R>(ctx, board, attacked.after(square));
    }
    let (a, b) = R::join(
        ctx,
        |ctx| solutions::<R>(ctx, board, attacked.after(square)),
        |ctx| row::<R>(ctx, board, attacked, others),
    );
    a + b
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rival::Seq;

    #[test]
    fn finds_the_known_numbers_of_solutions() {
        for (n, expected) in [(1, 1), (2, 0), (4, 2), (6, 4), (8, 92)] {
            assert_eq!(Queens::new(n).unwrap().run::<Seq>(&mut ()), expected);
        }
    }

    #[test]
    fn refuses_boards_that_do_not_fit() {
        assert!(Queens::new(0).is_err());
        assert!(Queens::new(17).is_err());
    }
}
