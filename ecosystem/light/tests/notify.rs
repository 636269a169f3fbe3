use ::notify::{RecursiveMode, Watcher, recommended_watcher};

#[blitz::test]
async fn as_is() {
    let place = std::env::temp_dir().join(format!("blitz-notify-{}", std::process::id()));
    std::fs::create_dir_all(&place).unwrap();
    let (send, mut receive) = blitz::sync::mpsc::unbounded_channel();
    let mut watcher = recommended_watcher(move |event: ::notify::Result<_>| {
        let _ = send.send(event.is_ok());
    })
    .unwrap();
    watcher.watch(&place, RecursiveMode::NonRecursive).unwrap();
    blitz::fs::write(place.join("new"), "text").await.unwrap();
    assert_eq!(receive.recv().await, Some(true));
    drop(watcher);
    std::fs::remove_dir_all(&place).unwrap();
}
