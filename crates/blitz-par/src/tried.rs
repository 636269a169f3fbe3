//! Stands in for the standard library's unstable trait `Try`, for the same types.

#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::ops::ControlFlow::{self, Break, Continue};
use std::task::Poll;

/// A result that says whether to continue. It is implemented for `Option`, `Result`, `ControlFlow`,
/// `Poll<Result<..>>` and `Poll<Option<Result<..>>>`, and cannot be implemented for other types.
pub trait Try: Sealed {
    /// The value to continue with.
    type Output;
    /// The value that ends the computation.
    type Residual;

    /// Makes a result from either value.
    fn of(flow: ControlFlow<Self::Residual, Self::Output>) -> Self;

    /// Splits the result into the two cases.
    fn branch(self) -> ControlFlow<Self::Residual, Self::Output>;
}

/// Seals [`Try`]: only the types below implement it.
pub trait Sealed {}

macro_rules! tried {
    ([$($params:ident),*] $type:ty, $output:ty, $residual:ty,
     { $($result:pat => $flow:expr,)* } { $($back:pat => $made:expr,)* }) => {
        impl<$($params),*> Sealed for $type {}

        impl<$($params),*> Try for $type {
            type Output = $output;
            type Residual = $residual;

            #[inline]
            fn of(flow: ControlFlow<$residual, $output>) -> $type {
                match flow { $($back => $made,)* }
            }

            #[inline]
            fn branch(self) -> ControlFlow<$residual, $output> {
                match self { $($result => $flow,)* }
            }
        }
    };
}

tried! { [T] Option<T>, T, Option<Infallible>,
    { Some(value) => Continue(value), None => Break(None), }
    { Continue(value) => Some(value), Break(_) => None, }
}

tried! { [T, E] Result<T, E>, T, Result<Infallible, E>,
    { Ok(value) => Continue(value), Err(error) => Break(Err(error)), }
    { Continue(value) => Ok(value), Break(Err(error)) => Err(error), Break(Ok(never)) => match never {}, }
}

tried! { [B, C] ControlFlow<B, C>, C, ControlFlow<B, Infallible>,
    { Continue(value) => Continue(value), Break(value) => Break(Break(value)), }
    { Continue(value) => Continue(value), Break(Break(value)) => Break(value),
      Break(Continue(never)) => match never {}, }
}

tried! { [T, E] Poll<Result<T, E>>, Poll<T>, Result<Infallible, E>,
    { Poll::Pending => Continue(Poll::Pending), Poll::Ready(Ok(value)) => Continue(Poll::Ready(value)),
      Poll::Ready(Err(error)) => Break(Err(error)), }
    { Continue(poll) => poll.map(Ok), Break(Err(error)) => Poll::Ready(Err(error)),
      Break(Ok(never)) => match never {}, }
}

tried! { [T, E] Poll<Option<Result<T, E>>>, Poll<Option<T>>, Result<Infallible, E>,
    { Poll::Pending => Continue(Poll::Pending), Poll::Ready(None) => Continue(Poll::Ready(None)),
      Poll::Ready(Some(Ok(value))) => Continue(Poll::Ready(Some(value))),
      Poll::Ready(Some(Err(error))) => Break(Err(error)), }
    { Continue(poll) => poll.map(|value| value.map(Ok)), Break(Err(error)) => Poll::Ready(Some(Err(error))),
      Break(Ok(never)) => match never {}, }
}
