//! Bodies that attract each other. Each step computes the forces on all bodies in parallel, then
//! moves them; the total energy stays nearly the same.

use std::time::Instant;

use blitz::prelude::*;

type Vector = [f64; 3];

#[derive(Debug, Clone, Copy)]
struct Body {
    place: Vector,
    speed: Vector,
    mass: f64,
}

const BODIES: usize = 1_000;
const STEPS: usize = 20;
const TIME: f64 = 1e-4;
/// Keeps the force finite where two bodies meet.
const SOFT: f64 = 1e-2;

fn minus(a: Vector, b: Vector) -> Vector {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn square(a: Vector) -> f64 {
    a.iter().map(|x| x * x).sum()
}

/// Returns the acceleration of `body`.
fn pull(body: &Body, bodies: &[Body]) -> Vector {
    bodies.iter().fold([0.0; 3], |sum, other| {
        let way = minus(other.place, body.place);
        let distance = square(way) + SOFT * SOFT;
        let force = other.mass / (distance * distance.sqrt());
        [sum[0] + way[0] * force, sum[1] + way[1] * force, sum[2] + way[2] * force]
    })
}

fn step(bodies: &mut [Body], pulls: &mut Vec<Vector>) {
    // Reuses the vector of the step before, so that nothing is allocated.
    bodies.par_iter().map(|body| pull(body, bodies)).collect_into_vec(pulls);
    bodies.par_iter_mut().zip(pulls.par_iter()).for_each(|(body, pull)| {
        for (axis, pull) in pull.iter().enumerate() {
            body.speed[axis] += pull * TIME;
            body.place[axis] += body.speed[axis] * TIME;
        }
    });
}

fn energy(bodies: &[Body]) -> f64 {
    let of_pairs = |(index, body): (usize, &Body)| {
        let others = bodies[index + 1..].iter();
        let depth = |other: &Body| {
            body.mass * other.mass / (square(minus(body.place, other.place)) + SOFT * SOFT).sqrt()
        };
        body.mass * square(body.speed) / 2.0 - others.map(depth).sum::<f64>()
    };
    // With `fixed_shape` the sum is the same on any machine, down to the last bit.
    bodies.par_iter().enumerate().fixed_shape().map(of_pairs).sum()
}

/// Makes bodies at places that look random.
fn bodies() -> Vec<Body> {
    let part = |n: usize, axis: usize| ((n * 3 + axis) as f64 * 0.618_033_988_75).fract() - 0.5;
    let place = |n: usize| [part(n, 0), part(n * n, 1), part(n * 7, 2)];
    let body = |n| Body { place: place(n), speed: [0.0; 3], mass: 1.0 / BODIES as f64 };
    (0..BODIES).into_par_iter().map(body).collect()
}

fn main() {
    let mut bodies = bodies();
    let (before, mut pulls) = (energy(&bodies), Vec::new());
    let start = Instant::now();
    for _ in 0..STEPS {
        step(&mut bodies, &mut pulls);
    }
    let after = energy(&bodies);
    let pairs = (STEPS * BODIES * BODIES) as f64 / start.elapsed().as_secs_f64() / 1e6;
    let drift = ((after - before) / before).abs();
    assert!(drift < 1e-3, "the energy went from {before} to {after}");
    println!(
        "{STEPS} steps of {BODIES} bodies, {pairs:.0} million pairs per second, drift {drift:.1e}"
    );
}
