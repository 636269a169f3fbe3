//! Draws the Mandelbrot set into a picture. Rows take very different times; the loop over them
//! needs no tuning for that.
//!
//! `cargo run --release --example mandelbrot -- set.pgm` keeps the picture.

use std::{env, fs, io};

use blitz::prelude::*;

const WIDTH: usize = 900;
const HEIGHT: usize = 600;
const LIMIT: u32 = 500;

/// Returns the number of steps until a pixel's point escapes, or else `LIMIT`.
fn steps(x: usize, y: usize) -> u32 {
    let re = x as f64 / WIDTH as f64 * 3.0 - 2.0;
    let im = y as f64 / HEIGHT as f64 * 2.0 - 1.0;
    let (mut a, mut b) = (0.0, 0.0);
    for step in 0..LIMIT {
        let (aa, bb) = (a * a, b * b);
        if aa + bb > 4.0 {
            return step;
        }
        (a, b) = (aa - bb + re, 2.0 * a * b + im);
    }
    LIMIT
}

/// Returns a grey: dark inside the set, and brighter if the point escapes sooner.
fn shade(steps: u32) -> u8 {
    let part = f64::from(steps) / f64::from(LIMIT);
    (255.0 * (1.0 - part.sqrt())) as u8
}

fn draw(pixels: &mut [u8]) {
    pixels.par_chunks_mut(WIDTH).enumerate().for_each(|(y, row)| {
        for (x, pixel) in row.iter_mut().enumerate() {
            *pixel = shade(steps(x, y));
        }
    });
}

fn main() -> io::Result<()> {
    let mut pixels = vec![0; WIDTH * HEIGHT];
    draw(&mut pixels);

    // The picture is symmetric: rows y and HEIGHT - y are equal. Row 0 has no such partner.
    let row = |y: usize| &pixels[y * WIDTH..][..WIDTH];
    assert!((1..HEIGHT / 2).into_par_iter().all(|y| row(y) == row(HEIGHT - y)));
    let inside = pixels.par_iter().filter(|pixel| **pixel == 0).count();
    let area = inside as f64 / pixels.len() as f64 * 6.0;
    assert!((1.4..1.7).contains(&area), "the set has an area of about 1.5");

    let is_kept = env::args().nth(1);
    let path = match &is_kept {
        Some(path) => path.into(),
        None => env::temp_dir().join(format!("blitz-mandelbrot-{}.pgm", std::process::id())),
    };
    let picture = [format!("P5 {WIDTH} {HEIGHT} 255\n").as_bytes(), &pixels].concat();
    fs::write(&path, &picture)?;
    assert_eq!(fs::metadata(&path)?.len(), picture.len() as u64);
    if is_kept.is_none() {
        fs::remove_file(&path)?;
    }
    println!("{WIDTH}x{HEIGHT} pixels, an area of {area:.3}, {} bytes", picture.len());
    Ok(())
}
