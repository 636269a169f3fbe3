//! Files and directories by their paths.

mod common;

use blitz::fs;
use blitz::io::AsyncWriteExt;
use common::{Dir, on_each_size};
use std::collections::BTreeSet;
use std::fs::FileTimes;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

#[test]
fn whole_files_come_back_as_they_were_written() {
    on_each_size("whole files", || async {
        let dir = Dir::new();
        let path = dir.at("bytes");
        let bytes: Vec<u8> = (0..300_000u32).map(|n| n as u8).collect();
        fs::write(&path, &bytes).await.unwrap();
        assert_eq!(fs::read(&path).await.unwrap(), bytes);
        let error = fs::read_to_string(&path).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        assert_eq!(fs::copy(&path, dir.at("copy")).await.unwrap(), 300_000);
        fs::write(&path, "short").await.unwrap();
        assert_eq!(fs::read_to_string(&path).await.unwrap(), "short");
        assert_eq!(fs::read(dir.at("copy")).await.unwrap(), bytes);
    });
}

#[test]
fn a_missing_file_is_a_not_found_error() {
    on_each_size("not there", || async {
        let dir = Dir::new();
        let nowhere = dir.at("nowhere");
        let kinds = [
            fs::read(&nowhere).await.unwrap_err().kind(),
            fs::File::open(&nowhere).await.unwrap_err().kind(),
            fs::metadata(&nowhere).await.unwrap_err().kind(),
            fs::read_dir(&nowhere).await.unwrap_err().kind(),
            fs::remove_file(&nowhere).await.unwrap_err().kind(),
            fs::remove_dir_all(&nowhere).await.unwrap_err().kind(),
            fs::rename(&nowhere, dir.at("x")).await.unwrap_err().kind(),
            fs::canonicalize(&nowhere).await.unwrap_err().kind(),
            fs::create_dir(nowhere.join("below")).await.unwrap_err().kind(),
        ];
        assert_eq!(kinds, [ErrorKind::NotFound; 9]);
        assert!(!fs::try_exists(&nowhere).await.unwrap());
        fs::write(&nowhere, "now it is").await.unwrap();
        let error = fs::File::create_new(&nowhere).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    });
}

#[test]
fn directories_links_and_permissions() {
    on_each_size("directories", || async {
        let dir = Dir::new();
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir.at("a/b")).await.unwrap();
        let mode = fs::metadata(dir.at("a/b")).await.unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        assert!(fs::DirBuilder::new().create(dir.at("a/b")).await.is_err());
        fs::write(dir.at("a/b/file"), "content").await.unwrap();
        assert!(fs::remove_dir(dir.at("a/b")).await.is_err());

        fs::symlink(dir.at("a/b/file"), dir.at("soft")).await.unwrap();
        fs::hard_link(dir.at("a/b/file"), dir.at("hard")).await.unwrap();
        assert_eq!(fs::read_link(dir.at("soft")).await.unwrap(), dir.at("a/b/file"));
        assert!(fs::symlink_metadata(dir.at("soft")).await.unwrap().is_symlink());
        assert!(fs::metadata(dir.at("soft")).await.unwrap().is_file());
        let same = fs::canonicalize(dir.at("soft")).await.unwrap();
        assert_eq!(same, fs::canonicalize(dir.at("a/b/file")).await.unwrap());
        fs::set_permissions(dir.at("hard"), PermissionsExt::from_mode(0o640)).await.unwrap();
        let mode = fs::metadata(dir.at("a/b/file")).await.unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);

        fs::rename(dir.at("a"), dir.at("z")).await.unwrap();
        assert!(!fs::try_exists(dir.at("soft")).await.unwrap());
        assert_eq!(fs::read(dir.at("hard")).await.unwrap(), b"content");
        fs::remove_dir_all(dir.at("z")).await.unwrap();
        assert!(!fs::try_exists(dir.at("z")).await.unwrap());
    });
}

#[test]
fn each_entry_of_a_large_directory_comes_once() {
    on_each_size("entries", || async {
        let dir = Dir::new();
        let names: BTreeSet<String> = (0..1_000).map(|n| format!("entry-{n}")).collect();
        for name in &names {
            if name.ends_with('7') {
                std::fs::create_dir(dir.at(name)).unwrap();
            } else {
                std::fs::write(dir.at(name), name).unwrap();
            }
        }
        let mut entries = fs::read_dir(dir.at("")).await.unwrap();
        let mut found = BTreeSet::new();
        while let Some(entry) = entries.next_entry().await.unwrap() {
            let name = entry.file_name().into_string().unwrap();
            assert_eq!(entry.path(), dir.at(&name));
            assert_eq!(entry.file_type().await.unwrap().is_dir(), name.ends_with('7'));
            if name.ends_with('3') {
                assert_eq!(entry.metadata().await.unwrap().len(), name.len() as u64);
            }
            assert!(found.insert(name));
        }
        assert_eq!(found, names);
        assert!(entries.next_entry().await.unwrap().is_none());
    });
}

#[test]
fn many_tasks_use_many_files() {
    on_each_size("many files", || async {
        let dir = std::sync::Arc::new(Dir::new());
        let tasks: Vec<_> = (0..64usize)
            .map(|n| {
                let dir = dir.clone();
                blitz::spawn(async move {
                    let path = dir.at(&n.to_string());
                    for round in 1..=5 {
                        fs::write(&path, vec![n as u8; n * round]).await.unwrap();
                        assert_eq!(fs::read(&path).await.unwrap(), vec![n as u8; n * round]);
                    }
                    fs::remove_file(&path).await.unwrap();
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert!(fs::read_dir(dir.at("")).await.unwrap().next_entry().await.unwrap().is_none());
    });
}

#[test]
fn after_the_runtime_s_end_the_error_says_what_to_do() {
    let runtime = blitz::Runtime::builder().workers(1).build().unwrap();
    let handle = runtime.handle();
    drop(runtime);
    let error = handle.block_on(blitz::fs::metadata(".")).unwrap_err();
    assert_eq!(error.to_string(), "the runtime has ended: keep it as long as its files are used");
}

#[test]
fn times_of_files_directories_and_pipes_can_be_set() {
    on_each_size("times", || async {
        let dir = Dir::new();
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let times = || FileTimes::new().set_modified(then).set_accessed(then);
        fs::write(dir.at("file"), "text").await.unwrap();
        fs::create_dir(dir.at("folder")).await.unwrap();
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, dir.at("fifo"), rustix::fs::FileType::Fifo, mode, 0)
            .unwrap();
        for name in ["file", "folder", "fifo"] {
            fs::set_times(dir.at(name), times()).await.unwrap();
            assert_eq!(fs::metadata(dir.at(name)).await.unwrap().modified().unwrap(), then);
        }
        let error = fs::set_times(dir.at("nothing"), times()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        let mut file = fs::File::create(dir.at("open")).await.unwrap();
        file.write_all(b"written before").await.unwrap();
        file.set_times(times()).await.unwrap();
        file.flush().await.unwrap();
        assert_eq!(fs::metadata(dir.at("open")).await.unwrap().modified().unwrap(), then);
    });
}
