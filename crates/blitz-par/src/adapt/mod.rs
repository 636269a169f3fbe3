//! Adaptors that change the items of any parallel iterator.

#![forbid(unsafe_code)]

/// Defines an adaptor: its fields, `Clone` if its fields have `Clone`, and `Debug` of its base.
macro_rules! adaptor {
    ($(#[$doc:meta])* $name:ident<$($base:ident),+ $(; $($param:ident),+)?>
     { $($part:ident),+ } { $($field:ident: $type:ty),* }) => {
        $(#[$doc])*
        #[must_use = "iterator adaptors are lazy and do nothing unless consumed"]
        #[derive(Clone)]
        pub struct $name<$($base),+ $($(, $param)+)?> {
            $(pub(crate) $part: $base,)+
            $(pub(crate) $field: $type,)*
        }

        impl<$($base: std::fmt::Debug),+ $($(, $param)+)?> std::fmt::Debug for $name<$($base),+ $($(, $param)+)?> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name))
                    $(.field(stringify!($part), &self.$part))+
                    .finish_non_exhaustive()
            }
        }
    };
}

/// The associated items of a `Layer` that keeps no state of its own.
macro_rules! stateless {
    ($item:ty) => {
        type Next = N;
        type Acc = N::Acc;

        #[inline]
        fn next(&self) -> &N {
            self.next
        }

        #[inline]
        fn wrap(&self, acc: N::Acc) -> N::Acc {
            acc
        }

        #[inline]
        fn unwrap(&self, acc: N::Acc, _: &Turn<'_>) -> N::Acc {
            acc
        }

        #[inline]
        fn peek<'a>(&self, acc: &'a N::Acc) -> &'a N::Acc {
            acc
        }

        #[inline]
        fn before_fork(&self, acc: &mut N::Acc, place: &$crate::place::Place) {
            self.next.before_fork(acc, place);
        }
    };
}

/// The associated items of a `Layer` that has its own state beside that of the next reducer, and
/// gets values from `$init`.
macro_rules! stateful {
    ($init:ident, $own:ty) => {
        type Next = N;
        type Acc = (G::Spare, $own, N::Acc);

        #[inline]
        fn next(&self) -> &N {
            self.next
        }

        #[inline]
        fn peek<'a>(&self, acc: &'a Self::Acc) -> &'a N::Acc {
            &acc.2
        }

        fn before_fork(&self, acc: &mut Self::Acc, place: &$crate::place::Place) {
            self.$init.fork(&acc.0);
            self.next.before_fork(&mut acc.2, place);
        }
    };
}

/// A layer without state, defined by how it transforms a block.
macro_rules! layer {
    (
        $layer:ident [$($f:ident: $F:ident)?] [$($shared:ident: $Shared:ty)?],
        [$($params:tt)*] $from:ty => $to:ty where [$($bounds:tt)*],
        |$self:ident, $block:ident| $make:expr
        $(, done |$state:ident| $done:expr)?
    ) => {
        struct $layer<'l, $($F,)? N> {
            $($shared: $Shared,)?
            $($f: &'l $F,)?
            next: &'l N,
        }

        impl<'l, $($params)* $($F,)? N> Layer<$from> for $layer<'l, $($F,)? N>
        where
            N: Reducer<$to>,
            $($bounds)*
        {
            type To = $to;
            stateless!($from);

            #[inline]
            fn fold<B: Iterator<Item = $from>>(
                &$self,
                acc: N::Acc,
                turn: &Turn<'_>,
                $block: B,
            ) -> N::Acc {
                $self.next.fold(acc, turn, $make)
            }

            $(const SHORT_BLOCKS: bool = {
                // A layer that may end the loop checks at each block.
                let _ = stringify!($state);
                true
            };

            fn is_done(&self, acc: &N::Acc, place: &Place) -> bool {
                let $state = self;
                let is_done = $done;
                is_done || self.next.is_done(acc, place)
            }

            fn is_over(&self, place: &Place) -> bool {
                let $state = self;
                let is_over = $done;
                is_over || self.next.is_over(place)
            })?
        }
    };
}

/// The method `drive` of a parallel iterator.
macro_rules! drive {
    (|mut $self:ident, $($rest:tt)*) => {
        drive! { @ [mut $self] $($rest)* }
    };
    (|$self:ident, $($rest:tt)*) => {
        drive! { @ [$self] $($rest)* }
    };
    (@ [$($self:tt)+] $turn:ident, $next:ident, $acc:ident| $body:expr) => {
        fn drive<N: Reducer<Self::Item>>(
            $($self)+,
            #[allow(unused_mut)] mut $turn: Turn<'_>,
            $next: &N,
            $acc: Option<N::Acc>,
        ) -> Run<N::Acc, N::Out> {
            $body
        }
    };
}

/// The method `drive` of an adaptor that drives its base through a layer.
macro_rules! drive_layer {
    (|$self:ident, $next:ident| $layer:expr) => {
        drive!(|$self, turn, $next, acc| {
            let layer = $layer;
            $crate::run::through($self.base, layer, turn, acc)
        });
    };
}

/// The methods for the length of an adaptor that has as many items as its base.
macro_rules! as_many {
    () => {
        fn exact_len(&self) -> Option<usize> {
            self.base.exact_len()
        }

        fn opt_len(&self) -> Option<usize> {
            self.base.opt_len()
        }
    };
}

/// The associated items of an indexed adaptor that has as many items as its base and is cut at the
/// same places.
macro_rules! as_indexed {
    ($piece:ty, |$self:ident| $make:expr) => {
        type Piece<'p>
            = $piece
        where
            Self: 'p;

        fn len(&self) -> usize {
            self.base.len()
        }

        fn piece(&mut $self) -> Self::Piece<'_> {
            $make
        }

        fn tune(&self, limits: &mut Limits) {
            self.base.tune(limits);
        }
    };
}

pub mod any;
pub mod chain;
pub mod each;
pub mod filter;
pub mod flat;
pub mod fold;
pub mod fuse;
pub mod intersperse;
pub mod seeds;
pub mod try_fold;
pub mod tuned;
pub mod watched;
pub mod with;
