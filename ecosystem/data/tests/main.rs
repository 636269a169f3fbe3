//! Databases, stores and telemetry, each in a small program on Blitz.
//!
//! Modules and tests are named as in the package `light`.

mod metrics_exporter_prometheus;
mod object_store;
mod opentelemetry_sdk;
mod sqlx;
