//! Texts of errors that say more than the engine does: which value is undefined or no function, and what to use for what is missing.

use oxc_allocator::Allocator;
use oxc_ast::ast;
use oxc_ast_visit::{Visit, walk};
use oxc_span::{GetSpan as _, Span};

use crate::place::Place;
use crate::strip;

/// What scripts look for in vain, and what to use instead.
const INSTEAD: [(&str, &str); 17] = [
    (
        "require",
        "a script has no modules: use `tools`, `input` and JavaScript's own objects",
    ),
    ("module", "a script has no modules: `return` the answer"),
    ("exports", "a script has no modules: `return` the answer"),
    (
        "process",
        "a script is no process: run a command with tools.execute, and `return` ends the script; arguments are in `input`",
    ),
    (
        "fetch",
        "a script has no network: fetch with a command, such as tools.execute({ command: \"curl -s URL\" }), or with a tool that tools.search finds",
    ),
    (
        "XMLHttpRequest",
        "a script has no network: fetch with a command, such as tools.execute({ command: \"curl -s URL\" })",
    ),
    ("WebSocket", "a script has no network"),
    (
        "Buffer",
        "use TextEncoder and TextDecoder, atob and btoa, or Uint8Array.fromBase64 and its toBase64",
    ),
    (
        "fs",
        "a script has no files of its own: use tools.read_file, tools.write_file and tools.execute",
    ),
    ("path", "join paths with template literals"),
    (
        "os",
        "ask a command, such as tools.execute({ command: \"uname -a\" })",
    ),
    ("child_process", "use tools.execute"),
    ("Temporal", "use Date"),
    ("window", "this is no browser"),
    ("document", "this is no browser"),
    ("Deno", "this is not Deno: use `tools`"),
    ("Bun", "this is not Bun: use `tools`"),
];

/// Names that scripts call and that are functions for sure, or have them.
const KNOWN: [&str; 15] = [
    "tools",
    "console",
    "JSON",
    "Object",
    "Array",
    "Math",
    "Number",
    "String",
    "Boolean",
    "Promise",
    "Date",
    "parseInt",
    "parseFloat",
    "scratch",
    "sleep",
];

/// The most characters of an expression that a text shows.
const SHOWN: usize = 60;

/// What the engine knows of an error.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Error<'a> {
    /// Its class.
    pub(crate) name: &'a str,
    /// Its text.
    pub(crate) message: &'a str,
    /// Whether a function of the engine threw it, such as `map`.
    pub(crate) is_native: bool,
    /// Its place in the script.
    pub(crate) place: Option<Place>,
}

impl Error<'_> {
    /// Returns the text of the error, with what the script says about it, and its place.
    pub(crate) fn explained(self, code: &str) -> (String, Option<Place>) {
        let Self { message, place, .. } = self;
        if let Some(text) = self.of_engine().or_else(|| self.of_missing()) {
            return (text, place);
        }
        let allocator = Allocator::default();
        let Some(what) = What::of(self) else {
            return (message.to_owned(), place);
        };
        let Ok(program) = strip::parse(&allocator, code) else {
            return (message.to_owned(), place);
        };
        let mut finder = Finder {
            code,
            what,
            offset: place.and_then(|place| u32::try_from(place.offset(code)?).ok()),
            found: Vec::new(),
        };
        finder.visit_program(&program);
        let place = match (place, finder.found.as_slice()) {
            (None, [one]) => Place::of(code, one.start as usize),
            _ => place,
        };
        let text = finder.text().and_then(|text| self.about(what, &text));
        (text.unwrap_or_else(|| message.to_owned()), place)
    }

    /// Returns what to say of an error of the engine itself.
    fn of_engine(self) -> Option<String> {
        let text = match self.message {
            // The latter has no memory for its text.
            "out of memory" | "Invalid error message" => {
                "the script needs more than the memory that it may have: read and keep less at once, such as a page of a file or the fields that are needed, or have a command such as jq, awk or sort do the work"
            }
            "stack overflow" | "Maximum call stack size exceeded" => {
                "functions call each other too deep: end the recursion, or use a loop"
            }
            "circular reference" => "JSON has no text of a value that contains itself",
            _ => return None,
        };
        Some(text.to_owned())
    }

    /// Returns what to say of a name that scripts look for in vain.
    fn of_missing(self) -> Option<String> {
        let missing = self.message.strip_suffix(" is not defined")?;
        let (_, instead) = INSTEAD.iter().find(|(name, _)| *name == missing)?;
        Some(format!("{}: {instead}", self.message))
    }

    /// Returns the text about an expression of the script.
    fn about(self, what: What<'_>, text: &str) -> Option<String> {
        let Self { message, .. } = self;
        let value = message
            .rsplit_once(" of ")
            .map_or("undefined", |(_, value)| value);
        match what {
            What::Called if self.is_native => Some(format!("an argument of {text} is {message}")),
            What::Called => Some(format!("{text} is {message}")),
            What::Iterated if self.is_native => None,
            What::Iterated if message.starts_with("value") => {
                Some(message.replacen("value", text, 1))
            }
            What::Iterated => Some(format!("{text} is not iterable: it is {value}")),
            What::Read(_) if text == value => None,
            What::Read(_) => Some(format!("{message}: {text} is {value}")),
            What::Destructured(None) => {
                Some(format!("{text} has no properties: it is undefined or null"))
            }
            What::Destructured(Some(_)) => None,
        }
    }
}

/// What an error is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What<'a> {
    /// The function of a call, or the class of a `new`.
    Called,
    /// The object of which this property is read.
    Read(&'a str),
    /// What a loop, a spread or a pattern goes through.
    Iterated,
    /// The value that a pattern with this property takes apart.
    Destructured(Option<&'a str>),
}

impl<'a> What<'a> {
    fn of(error: Error<'a>) -> Option<Self> {
        let Error {
            name,
            message,
            place,
            ..
        } = error;
        if name != "TypeError" {
            return None;
        }
        let property = |text: &str| {
            let rest = message.strip_prefix(text)?.strip_prefix(" property '")?;
            rest.split_once('\'').map(|(property, _)| property)
        };
        if message == "not a function" || message == "not a constructor" {
            Some(Self::Called)
        } else if message == "value is not iterable" {
            Some(Self::Iterated)
        } else if let Some(property) = property("cannot read").or_else(|| property("cannot set")) {
            Some(match property {
                "Symbol.iterator" => Self::Iterated,
                property => Self::Read(property),
            })
        } else if place.is_some() {
            None
        } else if message == "Cannot convert undefined or null to object" {
            Some(Self::Destructured(None))
        } else {
            let (property, _) = message.strip_prefix('`')?.split_once('`')?;
            Some(Self::Destructured(Some(property)))
        }
    }
}

/// Looks for the expressions at a byte that an error can be about.
struct Finder<'a> {
    code: &'a str,
    what: What<'a>,
    /// The byte, unless the engine has no place.
    offset: Option<u32>,
    found: Vec<Span>,
}

impl Finder<'_> {
    /// Returns the texts of what was found.
    fn text(&self) -> Option<String> {
        let mut texts: Vec<_> = self.found.iter().map(|&span| self.shown(span)).collect();
        // Inner expressions come behind those around them.
        texts.reverse();
        texts.dedup();
        let is_unknown = |text: &&String| {
            let root = text.split(|c: char| !c.is_alphanumeric()).next();
            !KNOWN.contains(&root.unwrap_or_default())
        };
        if self.what == What::Called && texts.iter().any(|text| is_unknown(&text)) {
            texts.retain(|text| is_unknown(&text));
        }
        match self.what {
            What::Called => (!texts.is_empty()).then(|| texts.join(" or ")),
            _ => texts.into_iter().next(),
        }
    }

    fn shown(&self, span: Span) -> String {
        let text = self.code.get(span.start as usize..span.end as usize);
        let words: Vec<_> = text.unwrap_or_default().split_whitespace().collect();
        let words = words.join(" ");
        match words.chars().count() > SHOWN {
            true => words.chars().take(SHOWN).chain(['…']).collect(),
            false => words,
        }
    }

    fn is_in(&self, start: u32, end: u32) -> bool {
        self.offset
            .is_some_and(|offset| start <= offset && offset <= end)
    }

    fn read(&mut self, object: Span, property: &str, member: Span) {
        let is_it = |name: &str| name == property.trim_matches(['"', '\'', '`']);
        if matches!(self.what, What::Read(name) if is_it(name))
            && self.is_in(object.start, member.end)
        {
            self.found.push(object);
        }
    }

    /// Forgets what is around the body of a function, if the byte is in it.
    fn enter(&mut self, body: Span) {
        if self.is_in(body.start, body.end) {
            self.found.clear();
        }
    }
}

impl<'a> Visit<'a> for Finder<'_> {
    fn visit_call_expression(&mut self, it: &ast::CallExpression<'a>) {
        // The engine names the last place before the call: of its function, or of one of its arguments.
        let start = match &it.callee {
            ast::Expression::StaticMemberExpression(member) => member.object.span().end,
            callee => callee.span().start,
        };
        if self.what == What::Called && self.is_in(start, it.span.end) {
            self.found.push(it.callee.span());
        }
        walk::walk_call_expression(self, it);
    }

    fn visit_new_expression(&mut self, it: &ast::NewExpression<'a>) {
        if self.what == What::Called && self.is_in(it.span.start, it.span.end) {
            self.found.push(it.callee.span());
        }
        walk::walk_new_expression(self, it);
    }

    fn visit_function_body(&mut self, it: &ast::FunctionBody<'a>) {
        self.enter(it.span);
        walk::walk_function_body(self, it);
    }

    fn visit_arrow_function_expression(&mut self, it: &ast::ArrowFunctionExpression<'a>) {
        self.enter(it.body.span());
        walk::walk_arrow_function_expression(self, it);
    }

    fn visit_static_member_expression(&mut self, it: &ast::StaticMemberExpression<'a>) {
        self.read(it.object.span(), &it.property.name, it.span);
        walk::walk_static_member_expression(self, it);
    }

    fn visit_computed_member_expression(&mut self, it: &ast::ComputedMemberExpression<'a>) {
        let key = it.expression.span();
        match (&it.expression, self.what) {
            (ast::Expression::NumericLiteral(_) | ast::Expression::StringLiteral(_), _) => {
                let text = self.shown(key);
                self.read(it.object.span(), &text, it.span);
            }
            // The property is what the expression gave.
            (_, What::Read(name)) => self.read(it.object.span(), name, it.span),
            _ => {}
        }
        walk::walk_computed_member_expression(self, it);
    }

    fn visit_for_of_statement(&mut self, it: &ast::ForOfStatement<'a>) {
        let right = it.right.span();
        if self.what == What::Iterated && self.is_in(right.start, right.end) {
            self.found.push(right);
        }
        walk::walk_for_of_statement(self, it);
    }

    fn visit_spread_element(&mut self, it: &ast::SpreadElement<'a>) {
        let span = it.argument.span();
        if self.what == What::Iterated && self.is_in(it.span.start, span.end) {
            self.found.push(span);
        }
        walk::walk_spread_element(self, it);
    }

    fn visit_variable_declarator(&mut self, it: &ast::VariableDeclarator<'a>) {
        let is_it = match (&it.id, self.what) {
            (ast::BindingPattern::ArrayPattern(_), What::Iterated) => true,
            (ast::BindingPattern::ObjectPattern(_), What::Destructured(None)) => true,
            (ast::BindingPattern::ObjectPattern(pattern), What::Destructured(Some(name))) => {
                pattern
                    .properties
                    .iter()
                    .any(|property| property.key.static_name().is_some_and(|key| key == name))
            }
            _ => false,
        };
        if let (true, None, Some(value)) = (is_it, self.offset, &it.init) {
            self.found.push(value.span());
        }
        walk::walk_variable_declarator(self, it);
    }
}
