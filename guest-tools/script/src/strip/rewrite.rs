//! What TypeScript has beside types: `enum`, `namespace`, and fields in the parameters of a constructor. It becomes JavaScript that does
//! the same, on the same lines.

use oxc_ast::ast;
use oxc_ast_visit::{Visit as _, walk};
use oxc_span::GetSpan as _;
use oxc_syntax::keyword::is_reserved_keyword;

use super::Types;

/// The parameters of the function that makes an `enum`: the object, the last number, and what adds a member.
const ENUM: &str = "last = -1, member = (name, value = last + 1) => (\
    typeof value === \"string\" || (OBJECT[value] = name), OBJECT[name] = last = value)";

impl<'a> Types<'_> {
    /// An `enum` becomes an object, made by a function in which its members are constants, so that one can name those before it.
    pub(super) fn rewrite_enum(&mut self, it: &ast::TSEnumDeclaration<'a>) {
        let name = it.id.name.as_str();
        let parameters = ENUM
            .replace("OBJECT", name)
            .replace("last", "$last")
            .replace("member", "$member");
        self.insert(
            it.span.start,
            format!("var {name} = (({name}, {parameters}) => {{ "),
        );
        let mut blank_from = it.span.start;
        for member in &it.body.members {
            let text = self.text(member.id.span().start, member.id.span().end);
            let key = match &member.id {
                ast::TSEnumMemberName::Identifier(id) => format!("\"{}\"", id.name),
                _ => text.trim_matches(['[', ']']).to_owned(),
            };
            let constant = match &member.id {
                ast::TSEnumMemberName::Identifier(id) if !is_reserved_keyword(&id.name) => {
                    format!("const {} = ", id.name)
                }
                _ => String::new(),
            };
            self.insert(member.span.start, format!("{constant}$member({key}"));
            if let Some(value) = &member.initializer {
                self.blank(blank_from, value.span().start);
                self.insert(value.span().start, ", ".to_owned());
                self.visit_expression(value);
                blank_from = value.span().end;
            } else {
                self.blank(blank_from, member.span.end);
                blank_from = member.span.end;
            }
            self.insert(blank_from, "); ".to_owned());
        }
        self.blank(blank_from, it.span.end);
        self.insert(it.span.end, format!("return {name}; }})({name} ?? {{}});"));
    }

    /// A `namespace` becomes an object, made by a function, from which what it exports can be read.
    pub(super) fn rewrite_namespace(&mut self, it: &ast::TSNamespaceDeclaration<'a>) {
        let ast::TSNamespaceDeclarationBody::TSModuleBlock(body) = &it.body else {
            return self.refuse(
                "`namespace` with a point in its name is not supported: use an object",
                it.span,
            );
        };
        let name = it.id.name.as_str();
        let mut exported = Vec::new();
        self.blank(it.span.start, body.span.start + 1);
        self.insert(it.span.start, format!("var {name} = (({name}) => {{ "));
        for statement in &body.body {
            let ast::Statement::ExportDeclaration(export) = statement else {
                self.visit_statement(statement);
                continue;
            };
            self.blank(export.span.start, export.declaration.span().start);
            exported.extend(names(&export.declaration));
            self.visit_declaration(&export.declaration);
        }
        let getters = exported
            .iter()
            .map(|name| format!("get {name}() {{ return {name} }}"))
            .collect::<Vec<_>>()
            .join(", ");
        self.blank(body.span.end - 1, it.span.end);
        self.insert(
            it.span.end,
            format!(
                "; return Object.defineProperties({name}, Object.getOwnPropertyDescriptors({{ {getters} }})); }})({name} ?? {{}});"
            ),
        );
    }

    /// The fields in the parameters of a constructor are assigned where its body begins, or behind `super(…)`.
    pub(super) fn rewrite_constructor(&mut self, function: &ast::Function<'a>) {
        let Some(body) = &function.body else { return };
        let mut assignments = String::new();
        for parameter in &function.params.items {
            if !is_field(parameter) {
                continue;
            }
            if let ast::BindingPattern::BindingIdentifier(id) = &parameter.pattern {
                assignments.push_str(&format!(" this.{0} = {0};", id.name));
            }
        }
        let after_super = body
            .statements
            .iter()
            .find_map(|statement| match statement {
                ast::Statement::ExpressionStatement(it) => match &it.expression {
                    ast::Expression::CallExpression(call)
                        if matches!(call.callee, ast::Expression::Super(_)) =>
                    {
                        // The semicolon may be left out.
                        assignments.insert(0, ';');
                        Some(it.span.end)
                    }
                    _ => None,
                },
                _ => None,
            });
        if !assignments.is_empty() {
            self.insert(after_super.unwrap_or(body.span.start + 1), assignments);
        }
    }

    /// Takes out what makes a parameter a field.
    pub(super) fn parameter(&mut self, it: &ast::FormalParameter<'a>) {
        if is_field(it) {
            const WORDS: [&str; 5] = ["public", "private", "protected", "readonly", "override"];
            self.blank_words(it.span.start, it.pattern.span().start, &WORDS);
        }
        if it.optional {
            self.blank_mark(it.pattern.span().end, it.span.end);
        }
        walk::walk_formal_parameter(self, it);
    }
}

fn is_field(it: &ast::FormalParameter<'_>) -> bool {
    it.accessibility.is_some() || it.readonly || it.r#override
}

/// Returns the names of values that a declaration declares.
fn names(declaration: &ast::Declaration<'_>) -> Vec<String> {
    let one = |id: Option<&ast::BindingIdentifier<'_>>| {
        id.map(|id| id.name.to_string()).into_iter().collect()
    };
    match declaration {
        ast::Declaration::VariableDeclaration(it) if !it.declare => it
            .declarations
            .iter()
            .flat_map(|it| it.id.get_binding_identifiers())
            .map(|id| id.name.to_string())
            .collect(),
        ast::Declaration::FunctionDeclaration(it) if it.body.is_some() => one(it.id.as_ref()),
        ast::Declaration::ClassDeclaration(it) if !it.declare => one(it.id.as_ref()),
        ast::Declaration::TSEnumDeclaration(it) if !it.declare => one(Some(&it.id)),
        ast::Declaration::TSNamespaceDeclaration(it) if !it.declare => one(Some(&it.id)),
        _ => Vec::new(),
    }
}
