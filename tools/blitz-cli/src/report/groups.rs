//! The rows of a report by group and by rival, and a sentence about each group.

use blitz_bench::verdict::{Row, Verdict};

use crate::units;

/// The rows of cases whose names begin alike.
pub struct Group<'r> {
    /// The part of the names before the first slash.
    pub name: &'r str,
    /// Losses first.
    pub rows: Vec<&'r Row>,
}

/// The rows of a group that compare with the same rival.
pub struct Duel<'r> {
    /// The rival's name, or a note that Blitz is compared with itself.
    pub rival: &'static str,
    /// Losses first, then the others by falling ratio.
    pub rows: Vec<&'r Row>,
}

/// Groups `rows`. The worst loss is the first row, so its group is the first.
pub fn groups(rows: &[Row]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for row in rows {
        let name = row.case.split('/').next().unwrap_or(&row.case);
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.rows.push(row),
            None => groups.push(Group { name, rows: vec![row] }),
        }
    }
    groups
}

impl<'r> Group<'r> {
    /// A title that says what its workloads do.
    pub fn title(&self) -> &'r str {
        match self.name {
            "fork-join" => "Forks and trees",
            "wake" => "Waking",
            "idle" => "Idle pools",
            "oversubscribed" => "More workers than cores",
            "async" => "Tasks",
            "signal" => "The two schedulers",
            "io" => "Sockets and timers",
            "mixed" => "Requests beside computations",
            "par" => "Parallel iterators",
            "rayon" => "Rayon's programs on the drop-in",
            other => other,
        }
    }

    /// One sentence about all rivals, and one about the worst row.
    pub fn summary(&self) -> String {
        let ratios = self.rows.iter().filter(|row| is_rivalry(row)).filter_map(|row| row.ratio);
        let mut ratios: Vec<f64> = ratios.map(|ratio| ratio.median).collect();
        ratios.sort_by(f64::total_cmp);
        let all = ratios.len();
        let cheaper = ratios.iter().filter(|ratio| **ratio < 1.0).count();
        let mut text = match ratios.get(all / 2) {
            Some(middle) => format!(
                "Blitz is cheaper in {cheaper} of {all} comparisons with rivals; \
                 the median of the ratios is {}.",
                units::ratio(*middle)
            ),
            None => "Blitz is compared with no rival here.".to_owned(),
        };
        let losses = self.rows.iter().filter(|row| row.verdict.is_loss()).count();
        let worst = self.rows.first().filter(|row| row.verdict.is_loss());
        text += &match (losses, worst) {
            (1, Some(worst)) => {
                format!(" One row is a loss or misses its goal: {}.", in_words(worst))
            }
            (_, Some(worst)) => {
                format!(
                    " {losses} rows are losses or miss a goal, first of all {}.",
                    in_words(worst)
                )
            }
            _ => " No row is a loss, and every goal is met.".to_owned(),
        };
        text
    }

    /// Its rows by rival, the rival with the worst loss first.
    pub fn duels(&self) -> Vec<Duel<'r>> {
        let mut duels: Vec<Duel<'r>> = Vec::new();
        for row in &self.rows {
            let rival = rival(row);
            match duels.iter_mut().find(|duel| duel.rival == rival) {
                Some(duel) => duel.rows.push(row),
                None => duels.push(Duel { rival, rows: vec![row] }),
            }
        }
        for duel in &mut duels {
            let median = |row: &Row| row.ratio.map_or(0.0, |ratio| ratio.median);
            let losses = duel.rows.iter().take_while(|row| row.verdict.is_loss()).count();
            duel.rows[losses..].sort_by(|one, other| median(other).total_cmp(&median(one)));
        }
        duels
    }
}

/// The rival of `row`, by name.
fn rival(row: &Row) -> &'static str {
    if row.subject.rival == row.reference.rival { "itself" } else { row.reference.rival.name() }
}

/// Whether `row` compares Blitz with a rival by a cost.
fn is_rivalry(row: &Row) -> bool {
    !row.reference.rival.is_ours() && row.verdict != Verdict::Told
}

/// Describes a row in words.
fn in_words(row: &Row) -> String {
    let ratio = row.ratio.map_or_else(|| "failed".to_owned(), |ratio| units::ratio(ratio.median));
    format!("{} ({}) against {}, {ratio}", row.case, row.measure, rival(row))
}

#[cfg(test)]
mod tests {
    use blitz_bench::{case::Contestant, rival::RivalKind};

    use super::*;
    use crate::table::tests::row;

    fn rows() -> Vec<Row> {
        let mut itself = row("io/b", 1.1, Some(1.2), Verdict::Met);
        itself.reference = Contestant::new(RivalKind::Blitz, 8);
        let mut floor = row("io/b", 4.0, None, Verdict::Told);
        floor.reference = Contestant::new(RivalKind::Floor, 2);
        vec![
            row("io/a", 1.5, None, Verdict::Slower),
            row("wake/a", 0.2, Some(0.3), Verdict::Met),
            row("io/b", 0.5, Some(0.6), Verdict::Met),
            row("io/c", 0.9, None, Verdict::Faster),
            itself,
            floor,
        ]
    }

    #[test]
    fn the_group_with_the_worst_loss_is_the_first() {
        let rows = rows();
        let groups = groups(&rows);
        assert_eq!(groups.iter().map(|group| group.name).collect::<Vec<_>>(), ["io", "wake"]);
        assert_eq!(groups[0].title(), "Sockets and timers");
    }

    #[test]
    fn a_summary_counts_rivals_only() {
        let rows = rows();
        let groups = groups(&rows);
        assert_eq!(
            groups[0].summary(),
            "Blitz is cheaper in 2 of 3 comparisons with rivals; the median of the ratios is \
             0.90x. One row is a loss or misses its goal: io/a (wall) against rayon, 1.50x."
        );
        assert_eq!(
            groups[1].summary(),
            "Blitz is cheaper in 1 of 1 comparisons with rivals; the median of the ratios is \
             0.20x. No row is a loss, and every goal is met."
        );
    }

    #[test]
    fn a_duel_has_losses_first_and_then_the_largest_ratio() {
        let rows = rows();
        let duels = groups(&rows)[0].duels();
        let rivals: Vec<&str> = duels.iter().map(|duel| duel.rival).collect();
        assert_eq!(rivals, ["rayon", "itself", "floor"]);
        let cases: Vec<&str> = duels[0].rows.iter().map(|row| row.case.as_str()).collect();
        assert_eq!(cases, ["io/a", "io/c", "io/b"]);
    }
}
