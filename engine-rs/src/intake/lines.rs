//! Bodies made of lines: NDJSON, and N-Triples and N-Quads with invalid lines.
//!
//! A line of NDJSON is an event (`{"t": …, "event": JSON-LD}`, `{"t": …, "data": "Turtle"}`, or JSON-LD as it is), or
//! controls time (`{"watermark": …}`, `{"end": true}`). Blank node labels are scoped to their line. A flat scan bounds
//! the nesting before a parser sees the line.

use super::body::{Content, Refused};
use super::document::Tokens;
use super::event::{AssumedZone, read_time};
use crate::error::EngineError;
use crate::parse::{Position, RdfError, RdfFormat, Room, each_quad, parse_rdf_within};
use crate::time::Timestamp;
use oxrdf::Quad;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

const MAX_DEPTH: usize = 128;

/// A line that is not blank.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    bytes: &'a [u8],
    /// Its number among the non-blank lines.
    pub index: u64,
    /// Its number among all lines, from 1.
    number: u32,
}

impl Line<'_> {
    pub(super) fn start(&self) -> Position {
        Position { line: self.number, column: 1 }
    }

    /// A position in this line, given the column inside a part of it.
    fn place(&self, column: usize) -> Position {
        Position { line: self.number, column: u32::try_from(column).unwrap_or(u32::MAX) }
    }
}

/// The non-blank lines of a body.
pub(super) fn of(body: &[u8]) -> impl Iterator<Item = Line<'_>> {
    let lines = body.split(|byte| *byte == b'\n').enumerate();
    let numbered = lines.map(|(at, bytes)| (u32::try_from(at + 1).unwrap_or(u32::MAX), bytes));
    let filled = numbered.filter(|(_, bytes)| !bytes.trim_ascii().is_empty()).enumerate();
    filled.map(|(index, (number, bytes))| Line { bytes, index: index as u64, number })
}

/// Whether an error concerns one line and not the whole document.
pub(super) fn has_lines(format: RdfFormat) -> bool {
    matches!(format, RdfFormat::NTriples | RdfFormat::NQuads)
}

/// Yields the quads of the valid lines; the others are refused with their positions.
pub(super) fn good_quads(body: &[u8], format: RdfFormat, refused: &mut Vec<Refused>, take: &mut dyn FnMut(Quad)) {
    let mut room = Room::of(body);
    for line in of(body) {
        match parse_rdf_within(line.bytes, format, None, &mut room) {
            Ok(found) => found.into_iter().for_each(&mut *take),
            Err(error) => {
                let column = error.position().map_or(1, |position| position.column);
                let error = error.moved_to(line.place(column as usize)).into();
                refused.push(Refused { index: None, error });
            }
        }
    }
}

/// What a line of NDJSON asks for.
pub(super) enum Read {
    /// The events of a document, usually one, and the time of those that have none.
    Events(Option<Timestamp>),
    Control(Content),
}

/// Reads a line of NDJSON; its triples are the document of the tokens that is being read.
pub(super) fn read(
    line: &Line<'_>,
    at: Option<Timestamp>,
    zone: Option<&AssumedZone>,
    room: &mut Room,
    tokens: &mut Tokens,
) -> Result<Read, EngineError> {
    tokens.begin_document();
    let text = std::str::from_utf8(line.bytes).map_err(|error| {
        let good = String::from_utf8_lossy(&line.bytes[..error.valid_up_to()]);
        RdfError::Encoding { position: line.place(good.chars().count() + 1) }
    })?;
    check_depth(text, line)?;
    if text.trim_start().starts_with('[') {
        return events(text, 0, line, at, room, tokens);
    }
    let fields: Fields<'_> = serde_json::from_str(text).map_err(|error| {
        let message = error.to_string();
        let reason = message.split(" at line ").next().unwrap_or_default();
        let hint = "a line is a JSON object, such as {\"t\": 1000, \"event\": {…}}";
        syntax(format!("the line is not a JSON object: {reason} ({hint})"), line.place(error.column()))
    })?;
    interpret(text, &fields, line, (at, zone), room, tokens)
}

type Fields<'a> = BTreeMap<String, &'a RawValue>;

fn interpret(
    text: &str,
    fields: &Fields<'_>,
    line: &Line<'_>,
    (at, zone): (Option<Timestamp>, Option<&AssumedZone>),
    room: &mut Room,
    tokens: &mut Tokens,
) -> Result<Read, EngineError> {
    let only = |names: &[&str]| fields.keys().all(|key| names.contains(&key.as_str()));
    let field = |name: &str| fields.get(name).copied();
    if only(&["t", "event", "data"]) {
        let at = field("t").map_or(Ok(at), |value| time(value, "t", line, at, zone))?;
        return match (field("event"), field("data")) {
            (Some(event), None) => events(event.get(), offset(text, event), line, at, room, tokens),
            (None, Some(data)) => turtle(data, offset(text, data), line, at, room, tokens),
            (Some(_), Some(_)) => Err(shape("the line has both \"event\" and \"data\"", line)),
            (None, None) => Err(shape("the line has neither \"event\" nor \"data\"", line)),
        };
    }
    match (field("watermark"), field("end")) {
        (Some(value), None) if fields.len() == 1 => {
            let at =
                time(value, "watermark", line, None, zone)?.ok_or_else(|| shape("the watermark has no time", line))?;
            Ok(Read::Control(Content::Watermark(at)))
        }
        (None, Some(value)) if fields.len() == 1 => match value.get() {
            "true" => Ok(Read::Control(Content::End)),
            other => Err(shape(&format!("\"end\" is true, not {other}"), line)),
        },
        _ if fields.keys().any(|key| key.starts_with('@') || key.contains(':')) => {
            events(text, 0, line, at, room, tokens)
        }
        _ => Err(shape("the line is not an event: it has no \"event\", no \"data\" and no keyword of JSON-LD", line)),
    }
}

fn events(
    text: &str,
    offset: usize,
    line: &Line<'_>,
    at: Option<Timestamp>,
    room: &mut Room,
    tokens: &mut Tokens,
) -> Result<Read, EngineError> {
    let take = &mut |quad: Quad| tokens.push_quad(&quad, "");
    each_quad(text.as_bytes(), RdfFormat::JsonLd, None, room, take).map_err(|error| {
        let column = error.position().map_or(1, |position| position.column as usize);
        error.moved_to(line.place(offset + column))
    })?;
    Ok(Read::Events(at))
}

/// The embedded text has lines of its own: the message contains the position inside it, the error that of the text.
fn turtle(
    data: &RawValue,
    offset: usize,
    line: &Line<'_>,
    at: Option<Timestamp>,
    room: &mut Room,
    tokens: &mut Tokens,
) -> Result<Read, EngineError> {
    let text: String = serde_json::from_str(data.get()).map_err(|_| shape("\"data\" is a string of Turtle", line))?;
    let take = &mut |quad: Quad| tokens.push_quad(&quad, "");
    each_quad(text.as_bytes(), RdfFormat::Turtle, None, room, take).map_err(|error| match error {
        error @ RdfError::Unfolding { .. } => error,
        error => syntax(format!("in \"data\": {error}"), line.place(offset + 1)),
    })?;
    Ok(Read::Events(at))
}

/// Integer milliseconds, or a dateTime with a zone or an assumed one; null means no time.
fn time(
    value: &RawValue,
    name: &str,
    line: &Line<'_>,
    default: Option<Timestamp>,
    zone: Option<&AssumedZone>,
) -> Result<Option<Timestamp>, EngineError> {
    let raw = value.get();
    if raw == "null" {
        return Ok(default);
    }
    if let Ok(ms) = raw.parse::<i64>() {
        return Ok(Some(Timestamp::from_millis(ms)));
    }
    let text: Option<String> = serde_json::from_str(raw).ok();
    let text = text.filter(|text| text.contains('T'));
    let read = text.and_then(|text| read_time(&text, zone));
    read.map(Some).ok_or_else(|| EngineError::BadTime {
        name: name.to_owned(),
        value: shorten(raw),
        position: Some(line.start()),
    })
}

fn shorten(text: &str) -> String {
    if text.chars().count() <= 60 { text.to_owned() } else { text.chars().take(59).chain(['…']).collect() }
}

/// The start of a part of the line, in characters.
fn offset(text: &str, part: &RawValue) -> usize {
    let start = (part.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    text.get(..start).map_or(0, |before| before.chars().count())
}

fn shape(message: &str, line: &Line<'_>) -> EngineError {
    let hint =
        "write {\"t\": 1000, \"event\": {…}}, {\"t\": 1000, \"data\": \"…\"}, {\"watermark\": 1000} or {\"end\": true}";
    syntax(format!("{message}; {hint}"), line.start()).into()
}

fn syntax(message: String, position: Position) -> RdfError {
    RdfError::Syntax { message, position }
}

fn check_depth(text: &str, line: &Line<'_>) -> Result<(), RdfError> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            let column = text.get(..at).map_or(1, |before| before.chars().count() + 1);
            return Err(RdfError::Depth { position: line.place(column) });
        }
    }
    Ok(())
}
