//! From TypeScript to JavaScript: types become spaces, so that every line and column stays where it is. What is more than a type is
//! written in JavaScript, on the same line.

mod rewrite;

use oxc_allocator::Allocator;
use oxc_ast::ast;
use oxc_ast_visit::{Visit, walk};
use oxc_parser::{ParseOptions, Parser};
use oxc_span::{GetSpan as _, SourceType, Span};
use oxc_syntax::scope::ScopeFlags;

use crate::place::Place;

/// A mistake in the text of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    /// The mistake.
    pub(crate) message: String,
    /// Where.
    pub(crate) place: Option<Place>,
}

impl SyntaxError {
    fn at(message: String, script: &str, offset: u32) -> Self {
        Self {
            message,
            place: Place::of(script, offset as usize),
        }
    }
}

/// A script without its types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stripped {
    /// The JavaScript.
    pub(crate) text: String,
    /// What was inserted: where it is in the JavaScript, and how many characters it has.
    inserted: Vec<(Place, u32)>,
}

impl Stripped {
    /// Returns where the author wrote what is at a place of the JavaScript.
    pub(crate) fn original(&self, place: Place) -> Place {
        let mut column = place.column;
        for (inserted, length) in self.inserted.iter().rev() {
            if inserted.line == place.line && inserted.column < column {
                column = column.saturating_sub(*length).max(inserted.column);
            }
        }
        Place { column, ..place }
    }
}

/// Returns the script without its types. A script is the body of an async function.
pub(crate) fn strip(script: &str) -> Result<Stripped, SyntaxError> {
    let allocator = Allocator::default();
    let program = parse(&allocator, script)?;
    let mut types = Types {
        script,
        blanks: Vec::new(),
        marks: Vec::new(),
        inserts: Vec::new(),
        refused: None,
    };
    types.visit_program(&program);
    match types.refused {
        Some((what, offset)) => Err(SyntaxError::at(what.to_owned(), script, offset)),
        None => Ok(types.stripped()),
    }
}

/// Reads a script.
pub(crate) fn parse<'a>(
    allocator: &'a Allocator,
    script: &'a str,
) -> Result<ast::Program<'a>, SyntaxError> {
    let options = ParseOptions {
        allow_return_outside_function: true,
        ..ParseOptions::default()
    };
    let source_type = SourceType::ts().with_module(true);
    let parsed = Parser::new(allocator, script, source_type)
        .with_options(options)
        .parse();
    let Some(error) = parsed.diagnostics.into_iter().next() else {
        return Ok(parsed.program);
    };
    let label = error.labels.first().map(|label| label.offset());
    let help = error.help.as_ref().map(|help| format!(" ({help})"));
    let message = format!("{}{}", error.message, help.unwrap_or_default());
    Err(SyntaxError::at(message, script, label.unwrap_or_default()))
}

/// The places of types in a script.
struct Types<'s> {
    script: &'s str,
    /// What becomes spaces.
    blanks: Vec<Span>,
    /// Bytes that are written over spaces.
    marks: Vec<(u32, char)>,
    /// Texts that are written before a byte.
    inserts: Vec<(u32, String)>,
    /// Something that has an effect and is no JavaScript, and where it is.
    refused: Option<(&'static str, u32)>,
}

impl Types<'_> {
    fn blank(&mut self, from: u32, to: u32) {
        if from < to {
            self.blanks.push(Span::new(from, to));
        }
    }

    /// Takes out a whole statement or member. The semicolon keeps its neighbours apart.
    fn remove(&mut self, span: Span) {
        self.blank(span.start, span.end);
        self.marks.push((span.start, ';'));
    }

    fn insert(&mut self, at: u32, text: String) {
        self.inserts.push((at, text));
    }

    fn refuse(&mut self, what: &'static str, span: Span) {
        self.refused.get_or_insert((what, span.start));
    }

    fn text(&self, from: u32, to: u32) -> &str {
        self.script
            .get(from as usize..to as usize)
            .unwrap_or_default()
    }

    /// Takes out these words between two places, and any of these signs.
    fn blank_words(&mut self, from: u32, to: u32, words: &[&str]) {
        let text = self.text(from, to);
        let mut found = Vec::new();
        let mut rest = 0;
        for word in text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')) {
            if words.contains(&word) {
                found.push((rest, rest + word.len()));
            }
            rest += word.len();
            rest += text
                .get(rest..)
                .and_then(|text| text.chars().next())
                .map_or(0, char::len_utf8);
        }
        for (start, end) in found {
            self.blank(from + start as u32, from + end as u32);
        }
    }

    /// Takes out the `?` or `!` behind a name.
    fn blank_mark(&mut self, from: u32, to: u32) {
        let at = self.text(from, to).find(['?', '!']);
        if let Some(at) = at {
            let at = from + at as u32;
            self.blank(at, at + 1);
        }
    }

    /// Takes out the type behind an expression. If the next line would go on with the expression, a semicolon ends it.
    fn blank_behind(&mut self, from: u32, to: u32) {
        self.blank(from, to);
        let rest = self.text(to, self.script.len() as u32);
        let next = rest.trim_start();
        let gap = rest.get(..rest.len() - next.len()).unwrap_or_default();
        if gap.contains('\n') && next.starts_with(['(', '[', '`', '+', '-', '/']) {
            self.marks.push((from, ';'));
        }
    }

    /// Takes out the modifiers of a member of a class, and the mark behind its name.
    fn member(&mut self, span: Span, key: Span, until: u32) {
        const MODIFIERS: [&str; 7] = [
            "public",
            "private",
            "protected",
            "readonly",
            "override",
            "abstract",
            "declare",
        ];
        self.blank_words(span.start, key.start, &MODIFIERS);
        self.blank_mark(key.end, until);
    }

    fn decorators(&mut self, decorators: &[ast::Decorator<'_>]) {
        if let Some(first) = decorators.first() {
            self.refuse("decorators are not supported", first.span);
        }
    }

    fn stripped(mut self) -> Stripped {
        self.blanks
            .sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
        // Stable, so that texts for one place keep their order.
        self.inserts.sort_by_key(|(at, _)| *at);
        let mut text = String::with_capacity(self.script.len());
        let mut inserted = Vec::new();
        let mut blanks = self.blanks.iter().peekable();
        let mut inserts = self.inserts.iter().peekable();
        let mut blank_until = 0;
        let end = (self.script.len(), None);
        let characters = self.script.char_indices();
        for (at, character) in characters.map(|(at, it)| (at, Some(it))).chain([end]) {
            while let Some((_, insert)) = inserts.next_if(|(place, _)| *place as usize <= at) {
                if let Some(place) = Place::of(&text, text.len()) {
                    inserted.push((place, insert.chars().count() as u32));
                }
                text.push_str(insert);
            }
            while let Some(blank) = blanks.next_if(|blank| blank.start as usize <= at) {
                blank_until = blank_until.max(blank.end as usize);
            }
            let mark = self.marks.iter().find(|(place, _)| *place as usize == at);
            text.extend(character.map(|character| match (mark, at < blank_until) {
                (Some((_, mark)), true) => *mark,
                (None, true) if !is_line_end(character) => ' ',
                _ => character,
            }));
        }
        Stripped { text, inserted }
    }
}

fn is_line_end(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

impl<'a> Visit<'a> for Types<'_> {
    fn visit_ts_type_annotation(&mut self, it: &ast::TSTypeAnnotation<'a>) {
        self.blank(it.span.start, it.span.end);
    }

    fn visit_ts_type_parameter_declaration(&mut self, it: &ast::TSTypeParameterDeclaration<'a>) {
        self.blank(it.span.start, it.span.end);
    }

    fn visit_ts_type_parameter_instantiation(
        &mut self,
        it: &ast::TSTypeParameterInstantiation<'a>,
    ) {
        self.blank(it.span.start, it.span.end);
    }

    fn visit_ts_type_alias_declaration(&mut self, it: &ast::TSTypeAliasDeclaration<'a>) {
        self.remove(it.span);
    }

    fn visit_ts_interface_declaration(&mut self, it: &ast::TSInterfaceDeclaration<'a>) {
        self.remove(it.span);
    }

    fn visit_ts_global_declaration(&mut self, it: &ast::TSGlobalDeclaration<'a>) {
        self.remove(it.span);
    }

    fn visit_ts_external_module_declaration(&mut self, it: &ast::TSExternalModuleDeclaration<'a>) {
        self.remove(it.span);
    }

    fn visit_ts_enum_declaration(&mut self, it: &ast::TSEnumDeclaration<'a>) {
        match it.declare {
            true => self.remove(it.span),
            false => self.rewrite_enum(it),
        }
    }

    fn visit_ts_namespace_declaration(&mut self, it: &ast::TSNamespaceDeclaration<'a>) {
        match it.declare {
            true => self.remove(it.span),
            false => self.rewrite_namespace(it),
        }
    }

    fn visit_ts_import_equals_declaration(&mut self, it: &ast::TSImportEqualsDeclaration<'a>) {
        self.refuse(NO_IMPORT, it.span);
    }

    fn visit_import_expression(&mut self, it: &ast::ImportExpression<'a>) {
        self.refuse(NO_IMPORT, it.span);
    }

    fn visit_module_declaration(&mut self, it: &ast::ModuleDeclaration<'a>) {
        match it {
            ast::ModuleDeclaration::ImportDeclaration(it) if is_of_types(it) => {
                self.remove(it.span);
            }
            ast::ModuleDeclaration::ImportDeclaration(_) => self.refuse(NO_IMPORT, it.span()),
            ast::ModuleDeclaration::ExportDeclaration(it)
                if matches!(
                    it.declaration,
                    ast::Declaration::TSTypeAliasDeclaration(_)
                        | ast::Declaration::TSInterfaceDeclaration(_)
                ) =>
            {
                self.remove(it.span);
            }
            ast::ModuleDeclaration::ExportNamedDeclaration(it)
                if it.export_kind.is_type() || it.specifiers.is_empty() =>
            {
                self.remove(it.span);
            }
            _ => self.refuse("`export` is not supported: `return` the answer", it.span()),
        }
    }

    fn visit_variable_declaration(&mut self, it: &ast::VariableDeclaration<'a>) {
        if it.declare {
            return self.remove(it.span);
        }
        walk::walk_variable_declaration(self, it);
    }

    fn visit_variable_declarator(&mut self, it: &ast::VariableDeclarator<'a>) {
        if let (true, Some(annotation)) = (it.definite, &it.type_annotation) {
            self.blank_mark(it.id.span().end, annotation.span.start);
        }
        walk::walk_variable_declarator(self, it);
    }

    fn visit_function(&mut self, it: &ast::Function<'a>, flags: ScopeFlags) {
        if it.declare || it.body.is_none() {
            return self.remove(it.span);
        }
        walk::walk_function(self, it, flags);
    }

    fn visit_ts_this_parameter(&mut self, it: &ast::TSThisParameter<'a>) {
        let rest = self.text(it.span.end, self.script.len() as u32);
        let comma = rest
            .trim_start()
            .starts_with(',')
            .then(|| rest.find(','))
            .flatten();
        let end = comma.map_or(it.span.end, |comma| it.span.end + comma as u32 + 1);
        self.blank(it.span.start, end);
    }

    fn visit_formal_parameter(&mut self, it: &ast::FormalParameter<'a>) {
        self.decorators(&it.decorators);
        self.parameter(it);
    }

    fn visit_arrow_function_expression(&mut self, it: &ast::ArrowFunctionExpression<'a>) {
        if let Some(returned) = &it.return_type {
            let types = self.text(returned.span.start, returned.span.end);
            // No line may end between the parameters and the arrow.
            if types.contains(is_line_end) {
                self.blank(it.params.span.end - 1, it.params.span.end);
                self.marks.push((returned.span.end - 1, ')'));
            }
        }
        walk::walk_arrow_function_expression(self, it);
    }

    fn visit_class(&mut self, it: &ast::Class<'a>) {
        if it.declare {
            return self.remove(it.span);
        }
        self.decorators(&it.decorators);
        if it.r#abstract {
            self.blank_words(it.span.start, it.body.span.start, &["abstract"]);
        }
        if let Some(implemented) = it.implements.first() {
            let before = self.text(it.span.start, implemented.span.start);
            if let Some(word) = before.rfind("implements") {
                self.blank(it.span.start + word as u32, it.body.span.start);
            }
        }
        walk::walk_class(self, it);
    }

    fn visit_ts_class_implements(&mut self, _: &ast::TSClassImplements<'a>) {}

    fn visit_ts_index_signature(&mut self, it: &ast::TSIndexSignature<'a>) {
        self.remove(it.span);
    }

    fn visit_method_definition(&mut self, it: &ast::MethodDefinition<'a>) {
        if it.value.body.is_none() {
            return self.remove(it.span);
        }
        self.decorators(&it.decorators);
        self.member(it.span, it.key.span(), it.value.params.span.start);
        if it.kind.is_constructor() {
            self.rewrite_constructor(&it.value);
        }
        walk::walk_method_definition(self, it);
    }

    fn visit_property_definition(&mut self, it: &ast::PropertyDefinition<'a>) {
        let is_abstract = it.r#type == ast::PropertyDefinitionType::TSAbstractPropertyDefinition;
        if it.declare || is_abstract {
            return self.remove(it.span);
        }
        self.decorators(&it.decorators);
        let annotation = it
            .type_annotation
            .as_ref()
            .map(|annotation| annotation.span.start);
        let value = it.value.as_ref().map(|value| value.span().start);
        self.member(
            it.span,
            it.key.span(),
            annotation.or(value).unwrap_or(it.span.end),
        );
        walk::walk_property_definition(self, it);
    }

    fn visit_accessor_property(&mut self, it: &ast::AccessorProperty<'a>) {
        self.refuse("`accessor` is not supported: use `get` and `set`", it.span);
    }

    fn visit_ts_as_expression(&mut self, it: &ast::TSAsExpression<'a>) {
        self.blank_behind(it.expression.span().end, it.span.end);
        self.visit_expression(&it.expression);
    }

    fn visit_ts_satisfies_expression(&mut self, it: &ast::TSSatisfiesExpression<'a>) {
        self.blank_behind(it.expression.span().end, it.span.end);
        self.visit_expression(&it.expression);
    }

    fn visit_ts_non_null_expression(&mut self, it: &ast::TSNonNullExpression<'a>) {
        self.blank(it.expression.span().end, it.span.end);
        self.visit_expression(&it.expression);
    }

    fn visit_ts_type_assertion(&mut self, it: &ast::TSTypeAssertion<'a>) {
        self.blank(it.span.start, it.expression.span().start);
        self.visit_expression(&it.expression);
    }
}

/// Returns whether an import is of types alone.
fn is_of_types(it: &ast::ImportDeclaration<'_>) -> bool {
    let is_type = |it: &ast::ImportDeclarationSpecifier<'_>| match it {
        ast::ImportDeclarationSpecifier::ImportSpecifier(it) => it.import_kind.is_type(),
        _ => false,
    };
    it.import_kind.is_type()
        || it
            .specifiers
            .as_ref()
            .is_some_and(|specifiers| !specifiers.is_empty() && specifiers.iter().all(is_type))
}

const NO_IMPORT: &str =
    "`import` is not supported: a script has `tools`, `input` and JavaScript's own objects";

#[cfg(test)]
mod tests;
