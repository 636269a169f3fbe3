use ::object_store::ObjectStore;
use ::object_store::local::LocalFileSystem;
use ::object_store::memory::InMemory;
use ::object_store::path::Path;
use futures_util::TryStreamExt;

/// Puts objects into a store and gets them back.
async fn put_and_get(store: impl ObjectStore) {
    for name in ["a/1", "a/2", "b/3"] {
        store.put(&Path::from(name), name.as_bytes().to_vec().into()).await.unwrap();
    }
    let got = store.get(&Path::from("a/2")).await.unwrap().bytes().await.unwrap();
    assert_eq!(got, "a/2");
    let listed: Vec<_> = store.list(Some(&Path::from("a"))).try_collect().await.unwrap();
    assert_eq!(listed.len(), 2);
    assert!(store.get(&Path::from("c")).await.is_err());
}

fn local() -> (LocalFileSystem, std::path::PathBuf) {
    let name = format!("blitz-objects-{:?}", std::thread::current().id());
    let place = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
    std::fs::create_dir_all(&place).unwrap();
    (LocalFileSystem::new_with_prefix(&place).unwrap(), place)
}

#[blitz::test(workers = 2)]
async fn as_is() {
    put_and_get(InMemory::new()).await;
    let (store, place) = local();
    put_and_get(store).await;
    std::fs::remove_dir_all(place).unwrap();
}

#[blitz::test(tokio, workers = 2)]
async fn as_a_guest() {
    // With a guest, the store reads its files on threads that may block.
    let (store, place) = local();
    put_and_get(store).await;
    std::fs::remove_dir_all(place).unwrap();
}
