//! Finds clusters of points. Sums of floats depend on the order in which they are added up; with
//! `fixed_shape` the clusters are the same, down to the last bit, whatever the number of workers.

use blitz::prelude::*;

type Point = [f64; 2];

const POINTS: usize = 100_000;
const CLUSTERS: usize = 5;

fn distance(a: &Point, b: &Point) -> f64 {
    (a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2)
}

fn nearest(point: &Point, centres: &[Point]) -> usize {
    let distances = centres.iter().map(|centre| distance(point, centre));
    let (index, _) = distances.enumerate().min_by(|(_, a), (_, b)| a.total_cmp(b)).unwrap();
    index
}

/// For each centre, the sum of the points that are nearest to it, and their number.
type Sums = [(Point, u32); CLUSTERS];

fn add(mut all: Sums, sums: Sums) -> Sums {
    for (all, sum) in all.iter_mut().zip(sums) {
        all.0[0] += sum.0[0];
        all.0[1] += sum.0[1];
        all.1 += sum.1;
    }
    all
}

/// Moves each centre to the middle of its points.
fn improved(points: &[Point], centres: &[Point]) -> Vec<Point> {
    let none = || Sums::default();
    let sums = points.par_iter().fixed_shape().fold(none, |mut sums, point| {
        let (sum, count) = &mut sums[nearest(point, centres)];
        *sum = [sum[0] + point[0], sum[1] + point[1]];
        *count += 1;
        sums
    });
    let middle = |((sum, count), centre): ((Point, u32), &Point)| match count {
        0 => *centre,
        _ => [sum[0] / f64::from(count), sum[1] / f64::from(count)],
    };
    sums.reduce(none, add).into_iter().zip(centres).map(middle).collect()
}

fn k_means(points: &[Point]) -> Vec<Point> {
    let mut centres = points[..CLUSTERS].to_vec();
    for _ in 0..20 {
        centres = improved(points, &centres);
    }
    centres
}

/// Makes points around five places. The first five are near different places.
fn points() -> Vec<Point> {
    let noise = |n: usize, factor: f64| (n as f64 * factor).fract() - 0.5;
    let point = |n: usize| {
        let angle = (n % CLUSTERS) as f64 / CLUSTERS as f64 * std::f64::consts::TAU;
        [10.0 * angle.cos() + noise(n, 0.618_034), 10.0 * angle.sin() + noise(n, 0.414_214)]
    };
    (0..POINTS).into_par_iter().map(point).collect()
}

fn main() -> Result<(), blitz::BuildError> {
    let points = points();
    let centres = k_means(&points);
    for workers in [1, 2, 3, 8] {
        let pool = blitz::Pool::builder().workers(workers).build()?;
        let again = pool.install(|| k_means(&points));
        let bits = |centres: &[Point]| -> Vec<u64> {
            centres.iter().flatten().map(|x| x.to_bits()).collect()
        };
        assert_eq!(bits(&again), bits(&centres), "with {workers} workers");
    }
    for [x, y] in &centres {
        assert!((x.hypot(*y) - 10.0).abs() < 0.1, "a centre is where its points are");
        println!("{x:>8.4} {y:>8.4}");
    }
    println!("{POINTS} points, the same bits with 1, 2, 3 and 8 workers");
    Ok(())
}
