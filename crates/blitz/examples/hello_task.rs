//! The smallest async program: a runtime, a task, its result.

#[blitz::main]
async fn main() -> Result<(), blitz::JoinError> {
    let task = blitz::spawn(async {
        blitz::task::yield_now().await;
        "hello from a task"
    });
    println!("{}", task.await?);
    Ok(())
}
