//! Names of system calls in which threads spend time.

#![forbid(unsafe_code)]

/// Makes a table of numbers and names.
macro_rules! calls {
    ($($(#[$attribute:meta])* $number:ident = $name:literal),* $(,)?) => {
        &[$($(#[$attribute])* (libc::$number, $name)),*]
    };
}

/// Calls that may take long. Others are shown by their numbers.
const CALLS: &[(libc::c_long, &str)] = calls![
    SYS_futex = "futex",
    SYS_read = "read",
    SYS_write = "write",
    SYS_readv = "readv",
    SYS_writev = "writev",
    SYS_pread64 = "pread64",
    SYS_pwrite64 = "pwrite64",
    SYS_preadv = "preadv",
    SYS_pwritev = "pwritev",
    SYS_recvfrom = "recvfrom",
    SYS_recvmsg = "recvmsg",
    SYS_recvmmsg = "recvmmsg",
    SYS_sendto = "sendto",
    SYS_sendmsg = "sendmsg",
    SYS_sendmmsg = "sendmmsg",
    SYS_accept = "accept",
    SYS_accept4 = "accept4",
    SYS_connect = "connect",
    SYS_nanosleep = "nanosleep",
    SYS_clock_nanosleep = "clock_nanosleep",
    SYS_ppoll = "ppoll",
    SYS_pselect6 = "pselect6",
    SYS_epoll_pwait = "epoll_pwait",
    SYS_epoll_pwait2 = "epoll_pwait2",
    SYS_io_uring_enter = "io_uring_enter",
    SYS_openat = "openat",
    SYS_openat2 = "openat2",
    SYS_close = "close",
    SYS_fsync = "fsync",
    SYS_fdatasync = "fdatasync",
    SYS_sync = "sync",
    SYS_syncfs = "syncfs",
    SYS_fallocate = "fallocate",
    SYS_ftruncate = "ftruncate",
    SYS_flock = "flock",
    SYS_fcntl = "fcntl",
    SYS_ioctl = "ioctl",
    SYS_getdents64 = "getdents64",
    SYS_statx = "statx",
    SYS_newfstatat = "newfstatat",
    SYS_readlinkat = "readlinkat",
    SYS_unlinkat = "unlinkat",
    SYS_renameat2 = "renameat2",
    SYS_mkdirat = "mkdirat",
    SYS_wait4 = "wait4",
    SYS_waitid = "waitid",
    SYS_rt_sigtimedwait = "rt_sigtimedwait",
    SYS_rt_sigsuspend = "rt_sigsuspend",
    SYS_mmap = "mmap",
    SYS_munmap = "munmap",
    SYS_mprotect = "mprotect",
    SYS_madvise = "madvise",
    SYS_mremap = "mremap",
    SYS_msync = "msync",
    SYS_sched_yield = "sched_yield",
    SYS_getrandom = "getrandom",
    SYS_splice = "splice",
    SYS_sendfile = "sendfile",
    SYS_copy_file_range = "copy_file_range",
    SYS_tee = "tee",
    SYS_vmsplice = "vmsplice",
    SYS_shutdown = "shutdown",
    SYS_semop = "semop",
    SYS_semtimedop = "semtimedop",
    SYS_msgrcv = "msgrcv",
    SYS_msgsnd = "msgsnd",
    SYS_mq_timedreceive = "mq_timedreceive",
    SYS_mq_timedsend = "mq_timedsend",
    SYS_process_vm_readv = "process_vm_readv",
    SYS_membarrier = "membarrier",
    SYS_clone = "clone",
    SYS_clone3 = "clone3",
    SYS_execve = "execve",
    SYS_exit = "exit",
    SYS_exit_group = "exit_group",
    SYS_io_getevents = "io_getevents",
    SYS_futex_waitv = "futex_waitv",
    SYS_restart_syscall = "restart_syscall",
    #[cfg(target_arch = "x86_64")]
    SYS_open = "open",
    #[cfg(target_arch = "x86_64")]
    SYS_poll = "poll",
    #[cfg(target_arch = "x86_64")]
    SYS_select = "select",
    #[cfg(target_arch = "x86_64")]
    SYS_epoll_wait = "epoll_wait",
    #[cfg(target_arch = "x86_64")]
    SYS_pause = "pause",
    #[cfg(target_arch = "x86_64")]
    SYS_stat = "stat",
    #[cfg(target_arch = "x86_64")]
    SYS_lstat = "lstat",
    #[cfg(target_arch = "x86_64")]
    SYS_unlink = "unlink",
    #[cfg(target_arch = "x86_64")]
    SYS_rename = "rename",
    #[cfg(target_arch = "x86_64")]
    SYS_mkdir = "mkdir",
    #[cfg(target_arch = "x86_64")]
    SYS_rmdir = "rmdir",
    #[cfg(target_arch = "x86_64")]
    SYS_getdents = "getdents",
    #[cfg(target_arch = "x86_64")]
    SYS_vfork = "vfork",
    #[cfg(target_arch = "x86_64")]
    SYS_fork = "fork",
    #[cfg(target_arch = "x86_64")]
    SYS_readlink = "readlink",
];

/// The name of a system call, if it is one of those that may take long.
pub(super) fn name_of_call(number: libc::c_long) -> Option<&'static str> {
    CALLS.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)
}
