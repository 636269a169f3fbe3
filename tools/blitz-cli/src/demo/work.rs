//! The load of the demo: clients send requests, the server computes pictures, and a second pool
//! runs batches.

use std::{io, net::SocketAddr, time::Duration};

use blitz::{Pool, net::TcpStream, prelude::*, sync::mpsc, task, time};

use super::http::Connection;

/// How many clients ask at a time.
const CLIENTS: u64 = 6;
/// How long a client waits before it connects again after an error.
const PAUSE: Duration = Duration::from_millis(200);
/// How wide a picture is, in letters.
const COLUMNS: usize = 72;
/// After this many steps a point counts as part of the set.
const STEPS: usize = 250;
/// A name that a page must show literally.
const ODD_NAME: &str = "<script>alert(1)</script>";

/// Starts everything.
pub fn start(api: &Pool, batch: &Pool, server: SocketAddr) -> io::Result<()> {
    let handle = api.handle();
    let (send, receive) = mpsc::channel(64);
    for number in 0..CLIENTS {
        let name = format!("client {number}");
        let client = client(server, number, send.clone());
        task::Builder::new().name(&name).spawn_on(client, &handle)?;
    }
    task::Builder::new().name("statistics").spawn_on(statistics(receive), &handle)?;
    task::Builder::new().name(ODD_NAME).spawn_on(heartbeat(), &handle)?;
    task::Builder::new().name("batches").spawn_on(batches(), &batch.handle())?;
    Ok(())
}

/// Draws the Mandelbrot set as text, on all workers that are free.
pub fn render(rows: usize) -> String {
    let letter = |x: f64, y: f64| {
        let (mut a, mut b) = (0.0, 0.0);
        let steps = (0..STEPS).take_while(|_| {
            (a, b) = (a * a - b * b + x, 2.0 * a * b + y);
            a * a + b * b < 4.0
        });
        match steps.count() {
            STEPS => '#',
            steps if steps > 12 => '+',
            steps if steps > 5 => '.',
            _ => ' ',
        }
    };
    let row = |number: usize| -> String {
        let y = number as f64 / rows as f64 * 2.4 - 1.2;
        let line = (0..COLUMNS).map(|j| letter(j as f64 / COLUMNS as f64 * 3.0 - 2.1, y));
        line.chain(['\n']).collect()
    };
    blitz::region("render", || (0..rows).into_par_iter().map(row).collect())
}

/// Asks for pictures of different sizes, again and again. Connects again after an error.
async fn client(server: SocketAddr, number: u64, send: mpsc::Sender<usize>) {
    while !send.is_closed() {
        if visit(server, number, &send).await.is_err() {
            time::sleep(PAUSE).await;
        }
    }
}

/// Asks for some pictures on one connection.
async fn visit(server: SocketAddr, number: u64, send: &mpsc::Sender<usize>) -> io::Result<()> {
    let mut connection = Connection::new(TcpStream::connect(server).await?);
    for round in 0..50 {
        let rows = 8 + (number + round) % 5 * 4;
        let length = connection.ask(&format!("/render?rows={rows}")).await?;
        if send.send(length).await.is_err() {
            break;
        }
        time::sleep(Duration::from_millis(6 + number * 3)).await;
    }
    Ok(())
}

/// Adds up the sizes of the responses, and now and then uses a thread that may block.
async fn statistics(mut receive: mpsc::Receiver<usize>) {
    let mut total = 0;
    let mut answers = 0;
    while let Some(length) = receive.recv().await {
        total += length;
        answers += 1;
        if answers % 100 == 0 {
            let line = format!("{answers} answers, {total} bytes");
            let written = blitz::spawn_blocking(move || line.len());
            drop(written.await);
        }
    }
}

async fn heartbeat() {
    let mut beats = time::interval(Duration::from_millis(250));
    loop {
        beats.tick().await;
    }
}

async fn batches() {
    loop {
        let drawn = blitz::spawn_cpu(|| render(60));
        drop(drawn.await);
        time::sleep(Duration::from_millis(60)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_its_rows_and_the_set_in_the_middle() {
        let picture = render(12);
        assert_eq!(picture.lines().count(), 12);
        assert!(picture.lines().all(|line| line.chars().count() == COLUMNS));
        assert!(picture.lines().nth(6).unwrap().contains("####"), "{picture}");
        assert!(!picture.lines().next().unwrap().contains('#'), "{picture}");
    }
}
