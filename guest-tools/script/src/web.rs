//! What scripts know from browsers and needs more than JavaScript: URLs, and text as bytes.

use rquickjs::function::Opt;
use rquickjs::{Ctx, Exception, Function, Object, Result, TypedArray};
use url::{Url, quirks};

/// Adds the native functions of URLs and of text as bytes.
pub(crate) fn add<'js>(ctx: &Ctx<'js>, object: &Object<'js>) -> Result<()> {
    let parse_url = |url: String, base: Opt<String>| parse(&url, base.0.as_deref());
    object.set("parseUrl", Function::new(ctx.clone(), parse_url)?)?;
    let change_url = |url: String, part: String, value: String| change(&url, &part, &value);
    object.set("changeUrl", Function::new(ctx.clone(), change_url)?)?;
    let encode = |ctx: Ctx<'js>, text: String| TypedArray::<u8>::new(ctx, text.into_bytes());
    object.set("encodeText", Function::new(ctx.clone(), encode)?)?;
    let decode = |ctx: Ctx<'js>, digits: String, is_fatal: bool| decode(&ctx, &digits, is_fatal);
    object.set("decodeText", Function::new(ctx.clone(), decode)?)
}

/// The parts of a URL in the order of their names in the prelude: `href`, `origin`, `protocol`, `username`, `password`, `host`,
/// `hostname`, `port`, `pathname`, `search`, `hash`.
type Parts = Vec<String>;

/// Returns the parts of a URL, or `None` if it is none.
fn parse(url: &str, base: Option<&str>) -> Option<Parts> {
    let base = match base {
        Some(base) => Some(Url::parse(base).ok()?),
        None => None,
    };
    let url = Url::options().base_url(base.as_ref()).parse(url).ok()?;
    Some(parts(&url))
}

fn parts(url: &Url) -> Parts {
    [
        quirks::href,
        quirks::protocol,
        quirks::username,
        quirks::password,
        quirks::host,
        quirks::hostname,
        quirks::port,
        quirks::pathname,
        quirks::search,
        quirks::hash,
    ]
    .iter()
    .map(|part| part(url).to_owned())
    .chain([quirks::origin(url)])
    .collect()
}

/// Returns the parts of a URL in which one is changed, or `None` if that cannot be.
fn change(url: &str, part: &str, value: &str) -> Option<Parts> {
    let mut url = Url::parse(url).ok()?;
    let changed = match part {
        "protocol" => quirks::set_protocol(&mut url, value),
        "username" => quirks::set_username(&mut url, value),
        "password" => quirks::set_password(&mut url, value),
        "host" => quirks::set_host(&mut url, value),
        "hostname" => quirks::set_hostname(&mut url, value),
        "port" => quirks::set_port(&mut url, value),
        "pathname" => {
            quirks::set_pathname(&mut url, value);
            Ok(())
        }
        "search" => {
            quirks::set_search(&mut url, value);
            Ok(())
        }
        "hash" => {
            quirks::set_hash(&mut url, value);
            Ok(())
        }
        _ => Err(()),
    };
    changed.ok().map(|()| parts(&url))
}

/// Returns the text of bytes of UTF-8, which are given as hexadecimal digits.
fn decode(ctx: &Ctx<'_>, digits: &str, is_fatal: bool) -> Result<String> {
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Vec<u8> = digits.as_bytes().chunks(2).filter_map(byte).collect();
    String::from_utf8(bytes).or_else(|error| match is_fatal {
        false => Ok(String::from_utf8_lossy(error.as_bytes()).into_owned()),
        true => Err(Exception::throw_type(ctx, "the bytes are not UTF-8")),
    })
}
