//! Programs on a widely used crate: `ndarray`, with its feature `rayon`.

use ndarray::{Array2, ArrayView1, ArrayViewMut1, Zip};

use crate::program::{Program, fingerprint, numbers};

/// A square matrix of numbers between 0 and 1.
fn matrix(side: usize, seed: usize) -> Array2<f64> {
    let numbers = numbers(side * side + seed);
    let scale = 2_f64.powi(-64);
    Array2::from_shape_fn((side, side), |(row, column)| {
        numbers[row * side + column + seed] as f64 * scale
    })
}

fn fingerprint_of(matrix: &Array2<f64>) -> u64 {
    fingerprint(matrix.iter().map(|number| number.to_bits()))
}

/// The distance of points from the origin, element by element.
pub struct Distances {
    x: Array2<f64>,
    y: Array2<f64>,
    distances: Array2<f64>,
}

impl Distances {
    pub fn new(side: usize) -> Self {
        let distances = Array2::zeros((side, side));
        Self { x: matrix(side, 1), y: matrix(side, 2), distances }
    }
}

fn distance(distance: &mut f64, x: &f64, y: &f64) {
    *distance = (x * x + y * y).sqrt();
}

impl Program for Distances {
    fn prepare(&mut self) {
        self.distances.fill(0.0);
    }

    fn parallel(&mut self) {
        Zip::from(&mut self.distances).and(&self.x).and(&self.y).par_for_each(distance);
    }

    fn sequential(&mut self) {
        Zip::from(&mut self.distances).and(&self.x).and(&self.y).for_each(distance);
    }

    fn fingerprint(&self) -> u64 {
        fingerprint_of(&self.distances)
    }
}

/// Turns every row into probabilities.
pub struct Softmax {
    rows: Array2<f64>,
    probabilities: Array2<f64>,
}

impl Softmax {
    pub fn new(side: usize) -> Self {
        Self { rows: matrix(side, 3), probabilities: Array2::zeros((side, side)) }
    }
}

fn softmax(mut to: ArrayViewMut1<'_, f64>, from: ArrayView1<'_, f64>) {
    let most = from.fold(f64::MIN, |most, &number| most.max(number));
    Zip::from(&mut to).and(from).for_each(|to, &number| *to = (number - most).exp());
    let sum = to.sum();
    to /= sum;
}

impl Program for Softmax {
    fn prepare(&mut self) {
        self.probabilities.fill(0.0);
    }

    fn parallel(&mut self) {
        Zip::from(self.probabilities.rows_mut()).and(self.rows.rows()).par_for_each(softmax);
    }

    fn sequential(&mut self) {
        Zip::from(self.probabilities.rows_mut()).and(self.rows.rows()).for_each(softmax);
    }

    fn fingerprint(&self) -> u64 {
        fingerprint_of(&self.probabilities)
    }
}
