//! The text of a random query.

use super::{Generator, PREDICATES, RARE_OBJECTS, VARIABLES};

impl Generator<'_> {
    pub(super) fn window(&mut self) -> String {
        let width = self.random.range(1, 12);
        let slide = self.random.range(1, 12);
        match self.random.below(if self.is_cqels { 6 } else { 10 }) {
            0 => "NOW".into(),
            1 => "ALL".into(),
            2 => format!("TRIPLES {}", self.random.range(1, 9)),
            3 => format!("ELEMENTS {} STEP {}", self.random.range(1, 4), self.random.range(1, 4)),
            4 if !self.is_cqels => {
                let to = self.random.range(0, 4);
                format!("FROM NOW-{}ms TO NOW-{to}ms STEP {slide}ms", to + width)
            }
            4 => format!("RANGE {width}ms SLIDE {slide}ms"),
            5 => format!("RANGE {width}ms"),
            _ => format!("RANGE {width}ms STEP {slide}ms"),
        }
    }

    pub(super) fn stream(&mut self) -> &'static str {
        if self.random.below(self.n_streams) == 0 { ":s" } else { ":s2" }
    }

    /// A block of patterns over one window: a new window, which is added to those in use, or an existing one.
    pub(super) fn block(&mut self, patterns: &str) -> String {
        let is_new = self.windows.is_empty() || self.random.chance(30) && self.windows.len() < 3;
        if is_new {
            let (stream, window) = (self.stream(), self.window());
            let number = self.windows.len();
            self.windows.push(match self.is_cqels {
                true => format!("{stream} [{window}]"),
                false => format!("FROM NAMED WINDOW :w{number} ON {stream} [{window}]"),
            });
        }
        let used = if is_new { self.windows.len() - 1 } else { self.random.below(self.windows.len()) };
        match self.is_cqels {
            true => format!("STREAM {} {{ {patterns} }}", self.windows[used]),
            false => format!("WINDOW :w{used} {{ {patterns} }}"),
        }
    }

    pub(super) fn variable(&mut self) -> &'static str {
        VARIABLES[self.random.below(VARIABLES.len())]
    }

    pub(super) fn object(&mut self) -> String {
        if self.rare && self.random.chance(30) {
            return (*self.random.pick(&RARE_OBJECTS)).to_owned();
        }
        match self.random.below(10) {
            0..=3 => format!(":{}", ["a", "b", "c"][self.random.below(3)]),
            4..=7 => self.random.below(4).to_string(),
            _ if !self.awkward => self.random.below(4).to_string(),
            _ => (*self.random.pick(&[
                "1.0",
                "01",
                "\"1\"",
                "1.5e0",
                "\"x\"@en",
                "true",
                "2.50",
                "\"NaN\"^^xsd:double",
                "0.1e0",
            ]))
            .to_owned(),
        }
    }

    pub(super) fn triple(&mut self) -> String {
        let subject = if self.random.chance(85) { self.variable().to_owned() } else { ":a".to_owned() };
        let predicate = if self.random.chance(92) {
            PREDICATES[self.random.below(3)].to_owned()
        } else {
            self.variable().to_owned()
        };
        let object = match self.random.chance(80) {
            true if self.rare && self.random.chance(25) => self.triple_term(),
            true => self.variable().to_owned(),
            false => self.object(),
        };
        format!("{subject} {predicate} {object} .")
    }

    /// Subject and predicate are fixed: if EXISTS substitutes a literal there, the reference treats the whole as
    /// unbound.
    pub(super) fn triple_term(&mut self) -> String {
        let subject = *self.random.pick(&[":a", ":b"]);
        let predicate = *self.random.pick(&[":p", ":q"]);
        let object = match self.random.below(5) {
            // Not "01": the reference rewrites constants inside triple terms.
            0 => ":c",
            1 => "<<( :b :q 2 )>>",
            _ => self.variable(),
        };
        format!("<<( {subject} {predicate} {object} )>>")
    }

    /// Features that few queries have.
    pub(super) fn rare_part(&mut self) -> String {
        self.made += 1;
        let (a, b, made) = (self.variable(), self.variable(), self.made);
        match self.random.below(7) {
            0 => format!("BIND({a} - {b} AS ?bound{made})"),
            1 => format!("BIND({a} - {b} AS ?bound{made}) FILTER(!BOUND(?bound{made}) || ?bound{made} != 0)"),
            2 => format!("BIND(COALESCE(xsd:date({a}), xsd:dayTimeDuration(STR({b}))) AS ?bound{made})"),
            3 => format!("BIND(COALESCE(<urn:unknown>({a}), {b}) AS ?bound{made})"),
            4 => format!("FILTER(<urn:unknown>({a}) || {})", self.comparison()),
            5 => {
                let triples = self.triples(2);
                let block = self.block(&triples);
                format!("FILTER EXISTS {{ {block} BIND({a} - {b} AS ?bound{made}) FILTER(?bound{made} != 1) }}")
            }
            _ => {
                let triples = self.triples(2);
                let block = self.block(&triples);
                format!("FILTER NOT EXISTS {{ SELECT {a} {{ {block} }} LIMIT 1 }}")
            }
        }
    }

    pub(super) fn triples(&mut self, most: usize) -> String {
        let n = 1 + self.random.below(most);
        (0..n).map(|_| self.triple()).collect::<Vec<_>>().join(" ")
    }

    pub(super) fn comparison(&mut self) -> String {
        let (left, operator, right, _) = self.operands();
        match operator {
            // spareval treats a term as equal to itself; SPARQL has no order on IRIs, and none on NaN.
            "<=" | ">=" if right.starts_with('?') => ordered(left, operator, &right),
            _ => format!("{left} {operator} {right}"),
        }
    }

    /// Operands that may stand under `!`: comparisons with NaN are errors in spareval, and false in SPARQL.
    pub(super) fn negatable(&mut self) -> String {
        let (left, operator, right, is_order) = self.operands();
        if is_order { ordered(left, operator, &right) } else { format!("{left} {operator} {right}") }
    }

    pub(super) fn operands(&mut self) -> (&'static str, &'static str, String, bool) {
        let left = self.variable();
        let operator = *self.random.pick(&["<", "<=", ">", ">=", "=", "!="]);
        let right = if self.random.chance(50) { self.variable().to_owned() } else { self.random.below(4).to_string() };
        (left, operator, right, operator.starts_with(['<', '>']))
    }

    pub(super) fn condition(&mut self) -> String {
        match self.random.below(6) {
            0 => format!("{} && {}", self.comparison(), self.comparison()),
            1 => format!("{} || {}", self.comparison(), self.comparison()),
            2 => format!("BOUND({})", self.variable()),
            3 => format!("!({})", self.negatable()),
            _ => self.comparison(),
        }
    }

    /// One more part of a group; the allowed kinds depend on the depth.
    pub(super) fn part(&mut self, depth: usize) -> String {
        if self.rare && self.random.chance(40) {
            return self.rare_part();
        }
        match self.random.below(if depth > 0 { 13 } else { 5 }) {
            0 | 1 => {
                let triples = self.triples(2);
                self.block(&triples)
            }
            2 => format!("FILTER({})", self.condition()),
            3 => {
                format!("VALUES {} {{ :a 1 {} }}", self.variable(), if self.random.chance(30) { "UNDEF" } else { "2" })
            }
            4 => format!("{} :static {} .", self.variable(), self.variable()),
            5 | 6 => format!("OPTIONAL {{ {} }}", self.group(depth - 1)),
            7 => format!("MINUS {{ {} }}", self.group(depth - 1)),
            8 => format!("{{ {} }} UNION {{ {} }}", self.group(depth - 1), self.group(depth - 1)),
            9 | 10 => {
                let triples = self.triples(2);
                let block = self.block(&triples);
                let filter =
                    if self.random.chance(40) { format!("FILTER({})", self.comparison()) } else { String::new() };
                let not = if self.random.chance(60) { "NOT " } else { "" };
                format!("FILTER {not}EXISTS {{ {block} {filter} }}")
            }
            11 => {
                self.made += 1;
                let (variable, other) = (self.variable(), self.random.below(3));
                format!("BIND({variable} + {other} AS ?bound{})", self.made)
            }
            _ => self.subselect(depth - 1),
        }
    }

    pub(super) fn subselect(&mut self, depth: usize) -> String {
        let key = self.variable();
        let other = self.variable();
        let body = self.group(depth);
        self.made += 1;
        match self.random.below(3) {
            0 => format!("{{ SELECT DISTINCT {key} WHERE {{ {body} }} }}"),
            1 => {
                format!("{{ SELECT {key} (COUNT({other}) AS ?count{}) WHERE {{ {body} }} GROUP BY {key} }}", self.made)
            }
            _ => format!("{{ SELECT {key} WHERE {{ {body} }} }}"),
        }
    }

    /// A join of three or four patterns of one predicate, for which result trees are kept.
    pub(super) fn shape(&mut self) -> String {
        (*self.random.pick(&[
            "?a :p ?b . ?b :p ?c . ?c :p ?a .",
            "?a :p ?b . ?b :p ?c . ?c :p ?d .",
            "?a :p ?b . ?a :p ?c . ?a :p ?d .",
            "?a :p ?b . ?b :q ?c . ?c :p ?a . ?a :q ?d .",
            "?a :p/:p ?c . ?c :p ?a .",
        ]))
        .to_owned()
    }

    pub(super) fn group(&mut self, depth: usize) -> String {
        let triples = if self.dense && self.random.chance(45) { self.shape() } else { self.triples(3) };
        let mut parts = vec![self.block(&triples)];
        for _ in 0..self.random.below(3) {
            parts.push(self.part(depth));
        }
        parts.join(" ")
    }

    /// Groups over one window that overlaps with the next ones: what comes is folded ahead of the close, and what goes too.
    pub(super) fn overlapping(&mut self) -> String {
        let (slide, stream) = (self.random.range(1, 6), self.stream());
        let width = slide * self.random.range(2, 4) + self.random.range(0, 1);
        let (triple, (key, aggregate)) = (self.triple(), self.aggregate());
        let more = match self.random.below(4) {
            0 => format!("FILTER({})", self.condition()),
            1 => format!("BIND({} + 1 AS ?next)", self.variable()),
            2 => format!("{key} :static ?fact ."),
            _ => String::new(),
        };
        let from = format!("FROM NAMED WINDOW :w0 ON {stream} [RANGE {width}ms STEP {slide}ms]");
        format!("SELECT {key} {aggregate} {from} WHERE {{ WINDOW :w0 {{ {triple} }} {more} }} GROUP BY {key}")
    }

    pub(super) fn query(&mut self) -> String {
        if !self.is_cqels && self.random.chance(7) {
            return self.overlapping();
        }
        let depth = self.random.below(3);
        let body = self.group(depth);
        let (form, tail) = self.form();
        let from = if self.is_cqels { String::new() } else { self.windows.join(" ") };
        format!("SELECT {form} {from} WHERE {{ {body} }} {tail}")
    }

    pub(super) fn form(&mut self) -> (String, String) {
        let mut shown: Vec<&str> = VARIABLES.into_iter().filter(|_| self.random.chance(60)).collect();
        if shown.is_empty() {
            shown.push("?a");
        }
        match self.random.below(10) {
            0..=3 => {
                let all = if self.random.chance(50) { VARIABLES.to_vec() } else { shown };
                (all.join(" "), String::new())
            }
            4 => (format!("DISTINCT {}", shown.join(" ")), String::new()),
            5 | 6 if !self.awkward => {
                let direction = *self.random.pick(&["", "DESC"]);
                let order: Vec<String> = shown.iter().map(|v| format!("{direction}({v})")).collect();
                let offset = if self.random.chance(30) { "OFFSET 1" } else { "" };
                (shown.join(" "), format!("ORDER BY {} LIMIT {} {offset}", order.join(" "), self.random.range(1, 3)))
            }
            _ => self.aggregation(),
        }
    }

    /// A variable to group by, and aggregates.
    fn aggregate(&mut self) -> (&'static str, String) {
        let key = self.variable();
        let value = self.variable();
        let distinct = if self.random.chance(25) && !self.awkward { "DISTINCT " } else { "" };
        let functions: &[&str] =
            if self.awkward { &["COUNT", "SUM", "AVG"] } else { &["COUNT", "SUM", "AVG", "MIN", "MAX"] };
        let function = *self.random.pick(functions);
        (key, format!("({function}({distinct}{value}) AS ?result) (COUNT(*) AS ?rows)"))
    }

    pub(super) fn aggregation(&mut self) -> (String, String) {
        let (key, aggregate) = self.aggregate();
        match self.random.below(3) {
            0 => (aggregate, String::new()),
            1 => (format!("{key} {aggregate}"), format!("GROUP BY {key}")),
            _ => (format!("{key} {aggregate}"), format!("GROUP BY {key} HAVING (COUNT(*) > 1)")),
        }
    }
}

/// A comparison without NaN and IRIs. It does not use STR, because spareval loses the lexical form of `01`.
fn ordered(left: &str, operator: &str, right: &str) -> String {
    format!("xsd:decimal({left}) {operator} xsd:decimal({right})")
}
