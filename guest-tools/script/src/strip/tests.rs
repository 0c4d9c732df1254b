//! Scripts before and after their types are taken out.

use super::*;

/// Strips a script, and looks whether every character that is left is where it was. Returns the rest with its spaces joined.
fn stripped(script: &str) -> String {
    let stripped = strip(script).unwrap_or_else(|error| panic!("{script}: {error:?}"));
    assert_eq!(stripped.inserted, []);
    let stripped = stripped.text;
    assert_eq!(stripped.chars().count(), script.chars().count(), "{script}");
    for (before, after) in script.chars().zip(stripped.chars()) {
        assert!(
            after == before || matches!(after, ' ' | ';' | ')'),
            "{script}: {stripped}"
        );
    }
    let lines = stripped
        .lines()
        .map(|line| line.split_ascii_whitespace().collect::<Vec<_>>().join(" "));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn types_become_spaces() {
    let cases = [
        ("const x: number = 1;", "const x = 1;"),
        ("let x!: string;", "let x ;"),
        (
            "const f = (a?: A, b: B = 1): C => a;",
            "const f = (a , b = 1) => a;",
        ),
        ("const y = x as unknown as T[];", "const y = x ;"),
        ("f(x!, <T>y);", "f(x , y);"),
        ("f<A, B>(g satisfies G);", "f (g );"),
        (
            "function f<T extends {}>(this: X, a: T): a is U { }",
            "function f ( a ) { }",
        ),
        ("try {} catch (e: unknown) {}", "try {} catch (e ) {}"),
        ("for (const x of y as T[]) {}", "for (const x of y ) {}"),
        ("const ж: string = \"ж\" as any;", "const ж = \"ж\" ;"),
        (
            "class A<T> extends B<T> implements C, D { }",
            "class A extends B { }",
        ),
        (
            "class A { private readonly x?: T = 1; static y: U }",
            "class A { x = 1; static y }",
        ),
        (
            "class A { public async f?(): T {} get g(): U { return 1 } }",
            "class A { async f () {} get g() { return 1 } }",
        ),
        (
            "abstract class A { abstract f(): void; x = 1 }",
            "class A { ; x = 1 }",
        ),
    ];
    for (script, expected) in cases {
        assert_eq!(stripped(script), expected, "{script}");
    }
}

#[test]
fn statements_of_types_leave_their_neighbours_apart() {
    assert_eq!(stripped("a\ntype T = 1\n(b)"), "a\n;\n(b)");
    assert_eq!(stripped("interface A {\n  x: 1\n}\nb"), ";\n\n\nb");
    assert_eq!(stripped("declare const a: 1;\nb"), ";\nb");
    assert_eq!(
        stripped("const x = y as T\n;[1].map(f)"),
        "const x = y\n;[1].map(f)"
    );
    assert_eq!(stripped("const x = y as T\n`z`"), "const x = y;\n`z`");
}

#[test]
fn an_arrow_stays_on_the_line_of_its_parameters() {
    let script = stripped("const f = (a: 1): {\n  b: 2\n} => a");
    assert_eq!(script, "const f = (a\n\n) => a");
}

#[test]
fn what_has_an_effect_and_is_no_javascript_is_refused_with_its_place() {
    let cases = [
        ("\nnamespace A.B { export const b = 1 }", "namespace", 2),
        ("import fs from \"fs\"", "import", 1),
        ("await import(\"fs\")", "import", 1),
        ("\n\nexport const a = 1", "export", 3),
        ("@a class A {}", "decorators", 1),
    ];
    for (script, what, line) in cases {
        let error = strip(script).expect_err(script);
        assert!(error.message.contains(what), "{error:?}");
        assert_eq!(error.place.map(|place| place.line), Some(line), "{error:?}");
    }
}

#[test]
fn mistakes_have_places() {
    let error = strip("const a = 1;\nconst b = (a;\n").expect_err("a parenthesis is open");
    assert_eq!(
        error.place,
        Some(Place {
            line: 2,
            column: 13
        }),
        "{error:?}"
    );
    let error = strip("})(); tools.f(); (async () => {").expect_err("no function is open");
    assert_eq!(error.place.map(|place| place.line), Some(1));
}

#[test]
fn what_is_more_than_a_type_becomes_javascript_on_the_same_line() {
    let stripped = strip("enum A {\n  B,\n  C = 'x' as any\n}\nA.B()").expect("it is a script");
    let lines: Vec<_> = stripped.text.lines().collect();
    assert_eq!(lines.len(), 5);
    assert!(
        lines[0].starts_with("var A = ((A, $last = -1, $member = "),
        "{lines:?}"
    );
    assert_eq!(lines[1].trim(), "const B = $member(\"B\" );");
    assert!(
        lines[2].trim().starts_with("const C = $member(\"C\""),
        "{lines:?}"
    );
    let place = Place {
        line: 2,
        column: 13,
    };
    assert_eq!(
        stripped.original(place).column,
        3,
        "the member is where its name was"
    );

    let stripped = strip(
        "class A extends B { constructor(private readonly x: number, y?: T) { super(y); this.f() } }",
    );
    assert_eq!(
        stripped
            .expect("it is a script")
            .text
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" "),
        "class A extends B { constructor( x , y ) { super(y);; this.x = x; this.f() } }"
    );
    let stripped = strip("namespace N { const a = 1; export const b = a; export interface I {} }");
    assert_eq!(
        stripped
            .expect("it is a script")
            .text
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" "),
        "var N = ((N) => { const a = 1; const b = a; ; ; return Object.defineProperties(N, Object.getOwnPropertyDescriptors({ get b() { return b } })); })(N ?? {});"
    );
    for (script, rest) in [
        ("import type { A } from 'a'; f()", "; f()"),
        ("import { type A } from 'a'; f()", "; f()"),
        ("export type A = 1; f()", "; f()"),
        ("export interface A {} f()", "; f()"),
    ] {
        assert_eq!(
            strip(script)
                .expect(script)
                .text
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" "),
            rest
        );
    }
}
