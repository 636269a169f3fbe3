//! Sorts in parallel: two calls that become one `join`.

fn quicksort<T: Ord + Send>(items: &mut [T]) {
    if items.len() <= 1 {
        return;
    }
    let middle = items.len() / 2;
    items.select_nth_unstable(middle);
    let (low, high) = items.split_at_mut(middle);
    blitz::join(|| quicksort(low), || quicksort(&mut high[1..]));
}

fn main() {
    let mut state = 1u64;
    let mut numbers: Vec<u64> = (0..500_000)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 33
        })
        .collect();
    quicksort(&mut numbers);
    assert!(numbers.is_sorted());
    println!("sorted {} numbers on {} workers", numbers.len(), blitz::current_num_workers());
}
