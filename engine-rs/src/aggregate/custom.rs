//! Aggregates beyond SPARQL, called by IRI.

use super::{AggregateKind, AggregateSpec, Fraction};
use crate::parse::AGGREGATE_PREFIX;
use oxrdf::NamedNodeRef;

/// The aggregate behind an IRI, and whether it is over distinct terms: `urn:whorl:agg:` and `median`,
/// `percentile:<fraction>`, `stddev` (or `stddev_samp`), `stddev_pop`, `variance` (`var_samp`) or
/// `var_pop`; `:distinct` at the end.
#[must_use]
pub fn custom_aggregate(name: NamedNodeRef<'_>) -> Option<AggregateSpec> {
    let name = name.as_str().strip_prefix(AGGREGATE_PREFIX)?;
    let (name, distinct) = name.strip_suffix(":distinct").map_or((name, false), |name| (name, true));
    let kind = match name {
        "median" => AggregateKind::Median,
        "stddev" | "stddev_samp" => AggregateKind::StdDev { sample: true },
        "stddev_pop" => AggregateKind::StdDev { sample: false },
        "variance" | "var_samp" => AggregateKind::Variance { sample: true },
        "var_pop" => AggregateKind::Variance { sample: false },
        _ => {
            let fraction = name.strip_prefix("percentile:")?.parse().ok();
            AggregateKind::Percentile(Fraction::new(fraction?)?)
        }
    };
    Some(AggregateSpec { kind, distinct })
}
