//! The CPU quota of this process's control group (cgroup), in version 2 or 1.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// How much CPU time a control group may use.
#[derive(Debug, Clone, PartialEq)]
pub struct Quota {
    /// In processors, for example 1.5.
    pub cpus: f64,
    /// The file that sets the quota.
    pub source: PathBuf,
}

/// Returns the tightest quota on the way from this process's group to the root.
pub fn quota() -> Option<Quota> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    quota_below(Path::new("/sys/fs/cgroup"), &groups)
}

/// Returns the tightest quota of `groups`, which has lines `number:controllers:/path`. The line
/// `0::/path` belongs to version 2.
fn quota_below(mount: &Path, groups: &str) -> Option<Quota> {
    let quotas = groups.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, group) = (fields.next()?, fields.next()?);
        let group = group.trim_start_matches('/');
        if controllers.is_empty() {
            return tightest(mount, group, version_2);
        }
        let is_cpu = controllers.split(',').any(|controller| controller == "cpu");
        // The folder's name lists all controllers that share it, and each has a link to it.
        let folders = [controllers, "cpu"].map(|name| mount.join(name));
        let folder = folders.into_iter().find(|folder| is_cpu && folder.is_dir())?;
        tightest(&folder, group, version_1)
    });
    quotas.min_by(|one, other| one.cpus.total_cmp(&other.cpus))
}

/// Returns the tightest quota of `group` and its ancestors.
///
/// A quota limits everything below it, so all ancestors count. Inside a container the group's path
/// may not exist below the mount; its visible ancestors still do.
fn tightest(root: &Path, group: &str, read: fn(&Path) -> Option<Quota>) -> Option<Quota> {
    let deepest = root.join(group);
    deepest
        .ancestors()
        .take_while(|folder| folder.starts_with(root))
        .filter_map(read)
        .min_by(|one, other| one.cpus.total_cmp(&other.cpus))
}

/// Reads `cpu.max`: `quota period` in microseconds, or `max period` for no limit.
fn version_2(folder: &Path) -> Option<Quota> {
    let source = folder.join("cpu.max");
    let text = fs::read_to_string(&source).ok()?;
    let (quota, period) = text.trim().split_once(' ')?;
    let cpus = quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?;
    Some(Quota { cpus, source })
}

/// Reads `cpu.cfs_quota_us` and `cpu.cfs_period_us`; a quota of -1 means no limit.
fn version_1(folder: &Path) -> Option<Quota> {
    let source = folder.join("cpu.cfs_quota_us");
    let quota: f64 = fs::read_to_string(&source).ok()?.trim().parse().ok()?;
    let period = fs::read_to_string(folder.join("cpu.cfs_period_us")).ok()?;
    let cpus = quota / period.trim().parse::<f64>().ok()?;
    (quota > 0.0).then_some(Quota { cpus, source })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// A folder with the given files, removed at the end.
    struct Mount(PathBuf);

    impl Mount {
        fn with(files: &[(&str, &str)]) -> Self {
            static NEXT: AtomicU32 = AtomicU32::new(0);
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("blitz-cgroup-{}-{number}", std::process::id());
            let mount = Self(std::env::temp_dir().join(name));
            for (path, text) in files {
                let path = mount.0.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            mount
        }

        fn cpus(&self, groups: &str) -> Option<f64> {
            quota_below(&self.0, groups).map(|quota| quota.cpus)
        }
    }

    impl Drop for Mount {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn version_2_takes_the_tightest_ancestor() {
        let mount = Mount::with(&[
            ("a/cpu.max", "150000 100000\n"),
            ("a/b/cpu.max", "max 100000\n"),
            ("a/b/c/cpu.max", "400000 100000\n"),
        ]);
        assert_eq!(mount.cpus("0::/a/b/c\n"), Some(1.5));
        assert_eq!(mount.cpus("0::/\n"), None);
    }

    #[test]
    fn version_1_reads_minus_one_as_no_limit() {
        let mount = Mount::with(&[
            ("cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
            ("cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
            ("cpu,cpuacct/job/cpu.cfs_quota_us", "50000\n"),
            ("cpu,cpuacct/job/cpu.cfs_period_us", "100000\n"),
        ]);
        let groups = |path: &str| format!("5:memory:/job\n4:cpu,cpuacct:{path}\n");
        assert_eq!(mount.cpus(&groups("/job")), Some(0.5));
        assert_eq!(mount.cpus(&groups("/")), None);
    }

    #[test]
    fn a_group_that_is_not_visible_falls_back_to_its_ancestors() {
        let mount = Mount::with(&[("cpu.max", "200000 100000\n")]);
        assert_eq!(mount.cpus("0::/hidden/by/the/container\n"), Some(2.0));
        assert_eq!(mount.cpus("nonsense\n"), None);
    }
}
