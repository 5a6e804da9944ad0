//! A hand-written join of a chain of windows, with hard-coded schema, windows and probing order. The difference to the
//! engine is the price of generality.

/// One arrival: its stream and its two values.
#[derive(Clone, Copy)]
pub struct Event {
    pub stream: usize,
    pub subject: u32,
    pub object: u32,
}

/// The number of results, and a sum over all their values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    pub results: u64,
    pub sum: u64,
}

impl Tally {
    pub fn add(&mut self, row: &[u32]) {
        self.results += 1;
        let weights = (3_u64..).step_by(2);
        self.sum = weights.zip(row).fold(self.sum, |sum, (weight, value)| sum.wrapping_add(weight * u64::from(*value)));
    }
}

#[derive(Clone, Copy, Default)]
struct Row {
    keys: [u32; 2],
    /// The older row with the same hash, for each key.
    older: [u32; 2],
}

/// A window of rows with one chained index per key: newest first. A row has expired when its position is too old, so
/// nothing is ever deleted.
pub struct Window {
    rows: Vec<Row>,
    heads: [Vec<u32>; 2],
    mask: u32,
    shift: u32,
    next: u32,
    width: u32,
}

impl Window {
    pub fn new(width: usize) -> Self {
        let capacity = (width + 1).next_power_of_two();
        let buckets = width.next_power_of_two().max(2);
        Self {
            rows: vec![Row::default(); capacity],
            heads: [vec![0; buckets], vec![0; buckets]],
            mask: capacity as u32 - 1,
            shift: 64 - buckets.trailing_zeros(),
            next: 1,
            width: width as u32,
        }
    }

    fn bucket(&self, key: u32) -> usize {
        (u64::from(key).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }

    pub fn push(&mut self, keys: [u32; 2]) {
        let mut row = Row { keys, older: [0; 2] };
        for (side, key) in keys.into_iter().enumerate() {
            let bucket = self.bucket(key);
            row.older[side] = std::mem::replace(&mut self.heads[side][bucket], self.next);
        }
        self.rows[(self.next & self.mask) as usize] = row;
        self.next += 1;
    }

    /// The other values of the rows with this key on this side.
    pub fn each(&self, side: usize, key: u32, mut visit: impl FnMut(u32)) {
        let oldest = self.next.saturating_sub(self.width).max(1);
        let mut position = self.heads[side][self.bucket(key)];
        while position >= oldest {
            let row = self.rows[(position & self.mask) as usize];
            if row.keys[side] == key {
                visit(row.keys[1 - side]);
            }
            position = row.older[side];
        }
    }
}

/// More streams than any experiment has.
const WAYS_MAX: usize = 8;

/// `S0(v0,v1) ⋈ S1(v1,v2) ⋈ …`.
pub struct Chain {
    windows: Vec<Window>,
}

impl Chain {
    pub fn new(ways: usize, width: usize) -> Self {
        assert!(ways <= WAYS_MAX, "at most {WAYS_MAX} streams");
        Self { windows: (0..ways).map(|_| Window::new(width)).collect() }
    }

    pub fn push(&mut self, event: Event, tally: &mut Tally) {
        let (s, o) = (event.subject, event.object);
        self.windows[event.stream].push([s, o]);
        let [first, second, third] = self.windows.as_slice() else { return self.propagate(event, tally) };
        match event.stream {
            0 => second.each(0, o, |c| third.each(0, c, |d| tally.add(&[s, o, c, d]))),
            1 => first.each(1, s, |a| third.each(0, o, |d| tally.add(&[a, s, o, d]))),
            _ => second.each(1, s, |b| first.each(1, b, |a| tally.add(&[a, b, s, o]))),
        }
    }

    /// For chains of any length; the case of three streams is unrolled above.
    fn propagate(&self, event: Event, tally: &mut Tally) {
        let mut row = [0; WAYS_MAX + 1];
        row[event.stream] = event.subject;
        row[event.stream + 1] = event.object;
        self.leftwards(event.stream, event.stream + 1, &mut row, tally);
    }

    /// Everything before `at` is joined first, then everything from `right` on.
    fn leftwards(&self, at: usize, right: usize, row: &mut [u32; WAYS_MAX + 1], tally: &mut Tally) {
        if at == 0 {
            return self.rightwards(right, row, tally);
        }
        self.windows[at - 1].each(1, row[at], |value| {
            row[at - 1] = value;
            self.leftwards(at - 1, right, row, tally);
        });
    }

    fn rightwards(&self, at: usize, row: &mut [u32; WAYS_MAX + 1], tally: &mut Tally) {
        if at == self.windows.len() {
            return tally.add(&row[..=at]);
        }
        self.windows[at].each(0, row[at], |value| {
            row[at + 1] = value;
            self.rightwards(at + 1, row, tally);
        });
    }
}
