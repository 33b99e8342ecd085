//! `cargo x schema`: generates JSON Schema and TypeScript types of the protocol from annals-proto.

use std::error::Error;
use std::fmt::Write;
use std::fs;

use annals_proto::schema::schema;
use serde_json::{Map, Value};

use crate::{Outcome, project};

const SCHEMA: &str = "docs/schema/history.json";
const TYPES: &str = "docs/wire.d.ts";

/// Generates the files.
pub(crate) fn run() -> Outcome {
    for (path, text) in made()? {
        let path = project().join(path);
        fs::create_dir_all(path.parent().ok_or("a file has a folder")?)?;
        fs::write(path, text)?;
    }
    Ok(())
}

/// Returns the files that differ from what the code generates.
pub(crate) fn stale() -> Result<Vec<String>, Box<dyn Error>> {
    let is_fresh =
        |path: &str, text: &str| fs::read_to_string(project().join(path)).is_ok_and(|found| found == text);
    let stale = made()?.into_iter().filter(|(path, text)| !is_fresh(path, text));
    Ok(stale.map(|(path, _)| format!("{path} is stale: run `cargo x schema`")).collect())
}

fn made() -> Result<[(&'static str, String); 2], Box<dyn Error>> {
    let schema = schema();
    Ok([(SCHEMA, serde_json::to_string_pretty(&schema)? + "\n"), (TYPES, types(&schema)?)])
}

/// Generates TypeScript from the schema. It supports the constructs that our types use, and fails on others.
fn types(schema: &Value) -> Result<String, Box<dyn Error>> {
    let mut out = String::from(
        "// The history protocol of annals: see PROTOCOL.md. Made by `cargo x schema`; do not edit.\n",
    );
    let table = |key: &str| schema[key].as_object().ok_or(format!("the schema has no {key}"));
    for (name, schema) in table("$defs")? {
        doc(&mut out, schema, "");
        match schema.get("properties").and_then(Value::as_object) {
            Some(fields) => {
                writeln!(out, "export interface {name} {{")?;
                write_fields(&mut out, fields, schema, "  ")?;
                writeln!(out, "}}")?;
            }
            None => writeln!(out, "export type {name} = {};", type_of(schema)?)?,
        }
    }
    writeln!(out, "\n/** Methods of the server. */\nexport interface Methods {{")?;
    for (name, method) in table("methods")? {
        let (params, result) = (type_of(&method["params"])?, type_of(&method["result"])?);
        writeln!(out, "  \"{name}\": {{ params: {params}; result: {result} }};")?;
    }
    writeln!(out, "}}\n\n/** Notifications of the server. */\nexport interface Notifications {{")?;
    for (name, params) in table("notifications")? {
        writeln!(out, "  \"{name}\": {};", type_of(params)?)?;
    }
    let codes = schema["errorCodes"].as_array().ok_or("the schema has no codes")?;
    let codes: Vec<_> = codes.iter().map(ToString::to_string).collect();
    writeln!(out, "}}\n\n/** Why a request failed. */\nexport type ErrorCode = {};", codes.join(" | "))?;
    Ok(out)
}

fn write_fields(
    out: &mut String,
    fields: &Map<String, Value>,
    schema: &Value,
    indent: &str,
) -> Result<(), Box<dyn Error>> {
    let required = schema["required"].as_array();
    for (name, field) in fields {
        let is_required = required.is_some_and(|required| required.iter().any(|one| one == name));
        doc(out, field, indent);
        writeln!(out, "{indent}{name}{}: {};", if is_required { "" } else { "?" }, type_of(field)?)?;
    }
    Ok(())
}

fn doc(out: &mut String, schema: &Value, indent: &str) {
    let Some(text) = schema["description"].as_str() else { return };
    if indent.is_empty() {
        out.push('\n');
    }
    let text = text.replace("*/", "* /");
    let lines: Vec<_> = text.lines().map(|line| format!("{indent} * {line}").trim_end().to_owned()).collect();
    match &lines[..] {
        [_] => out.extend([indent, "/** ", &text, " */\n"]),
        lines => out.extend([indent, "/**\n", &lines.join("\n"), "\n", indent, " */\n"]),
    }
}

fn type_of(schema: &Value) -> Result<String, Box<dyn Error>> {
    if schema.as_bool() == Some(true) {
        return Ok("unknown".to_owned());
    }
    if let Some(name) = schema["$ref"].as_str() {
        return Ok(name.rsplit('/').next().unwrap_or_default().to_owned());
    }
    if let Some(value) = schema.get("const") {
        return Ok(value.to_string());
    }
    if let Some(values) = schema["enum"].as_array() {
        return Ok(values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | "));
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(choices) = schema[key].as_array() {
            let choices = choices.iter().map(type_of).collect::<Result<Vec<_>, _>>()?;
            return Ok(choices.join(" | "));
        }
    }
    match &schema["type"] {
        Value::String(name) => named(name, schema),
        Value::Array(names) => {
            let names = names.iter().filter_map(Value::as_str);
            Ok(names.map(|name| named(name, schema)).collect::<Result<Vec<_>, _>>()?.join(" | "))
        }
        // No word about the type: anything.
        Value::Null => Ok("unknown".to_owned()),
        other => Err(format!("no TypeScript for the type {other}").into()),
    }
}

fn named(name: &str, schema: &Value) -> Result<String, Box<dyn Error>> {
    Ok(match name {
        "string" | "boolean" | "null" => name.to_owned(),
        "integer" | "number" => "number".to_owned(),
        "array" if schema["prefixItems"].is_array() => {
            let members = schema["prefixItems"].as_array().into_iter().flatten();
            format!("[{}]", members.map(type_of).collect::<Result<Vec<_>, _>>()?.join(", "))
        }
        "array" => format!("Array<{}>", type_of(&schema["items"])?),
        "object" => match (schema["properties"].as_object(), schema.get("additionalProperties")) {
            (Some(fields), _) => {
                let mut out = String::from("{ ");
                let required = schema["required"].as_array();
                for (name, field) in fields {
                    let is_required = required.is_some_and(|required| required.iter().any(|one| one == name));
                    let mark = if is_required { "" } else { "?" };
                    write!(out, "{name}{mark}: {}; ", type_of(field)?)?;
                }
                out + "}"
            }
            (None, Some(values)) => format!("Record<string, {}>", type_of(values)?),
            (None, None) => "Record<string, never>".to_owned(),
        },
        other => return Err(format!("no TypeScript for the type {other}").into()),
    })
}
