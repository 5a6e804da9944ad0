//! How a query is partitioned, as JSON for programs.

use super::query::{Merge, ScaledQuery, Spreading};
use crate::parse::StreamName;
use crate::plan::named;
use serde_json::{Value, json};

impl ScaledQuery {
    /// The number of partitions, the variable and the reason for it, how each pattern is routed, and what runs below
    /// and above the cut.
    #[must_use]
    pub fn explain(&self) -> String {
        let (variable, below, above) = match &self.spreading {
            Spreading::One { plan, .. } => (None, json!(plan), Value::Null),
            Spreading::Over { spread, below, above, .. } => {
                let above = above.as_ref().map(|(_, text)| text.as_str());
                (Some(spread.variable.as_str()), json!(below), json!(above))
            }
        };
        let explained = json!({
            "partitions": self.partitions(),
            "variable": variable,
            "why": self.why(),
            "merge": self.merge().word(),
            "patterns": self.patterns(),
            "partial": below,
            "partialVariables": self.partial_variables(),
            "mergeText": above,
            "warnings": self.warnings(),
            "fingerprint": self.fingerprint(),
        });
        explained.to_string()
    }

    fn why(&self) -> String {
        match &self.spreading {
            Spreading::One { why, .. } => format!("runs on one partition: {why}"),
            Spreading::Over { spread, merge, .. } => {
                format!("{} is in every pattern over a stream; {}", named(&spread.variable), merge.reason())
            }
        }
    }

    fn patterns(&self) -> Vec<Value> {
        let Spreading::Over { spread, .. } = &self.spreading else { return vec![] };
        let pattern = |leaf: &crate::plan::RoutedLeaf| {
            let window = &self.definition.windows[leaf.window];
            let stream = match &window.stream {
                StreamName::Iri(iri) => iri.as_str(),
                StreamName::Variable(variable) => variable.as_str(),
            };
            let place = match (leaf.is_twice, leaf.place) {
                (true, _) => "both",
                (_, 0) => "subject",
                _ => "object",
            };
            json!({"stream": stream, "window": window.name.as_str(), "pattern": leaf.text, "place": place})
        };
        spread.leaves.iter().map(pattern).collect()
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.asked_partitions > 1 && !self.is_spread() {
            warnings.push(format!("{} partitions were requested; one is used", self.asked_partitions));
        }
        if let Spreading::Over { spread, merge, .. } = &self.spreading {
            if spread.is_doubled {
                warnings.push(String::from(
                    "a triple may be needed in two partitions, because the variable is subject in one pattern and object in another",
                ));
            }
            if *merge == Merge::TopK && spread.cut == crate::plan::Cut::Top {
                warnings
                    .push(String::from("ORDER BY without LIMIT: the whole answer is kept where it is put into order"));
            }
            if *merge == Merge::Netting {
                warnings.push(format!(
                    "{} is not shown, so that equal rows of several partitions must be cancelled in one place",
                    named(&spread.variable)
                ));
            }
        }
        warnings
    }
}

impl Merge {
    fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Union => "union",
            Self::Netting => "netting",
            Self::Groups => "groups",
            Self::Distinct => "distinct",
            Self::TopK => "top-k",
        }
    }

    fn reason(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Union => "the result is the union of the rows of all partitions",
            Self::Netting => "additions and removals of all partitions cancel out",
            Self::Groups => "every partition groups its share, and the merge combines the groups",
            Self::Distinct => "rows that occur in several partitions are emitted once",
            Self::TopK => "the first rows of all are among the first rows of each partition",
        }
    }
}
