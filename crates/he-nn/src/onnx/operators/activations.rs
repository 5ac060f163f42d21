//! Functions of one number.

use super::super::Reader;
use super::super::node::View;
use crate::error::Result;
use crate::function::{Function, Named};
use crate::graph::{Affine, Op};

/// The function that an operator computes on every element, if it computes one.
pub fn named(view: &View<'_>) -> Result<Option<Function>> {
    let one = Function::named;
    let x = Function::x();
    Ok(Some(match view.operator {
        "Relu" => one(Named::Relu),
        "LeakyRelu" => one(Named::LeakyRelu(view.number("alpha", f64::from(0.01f32))?)),
        "Sigmoid" => one(Named::Sigmoid),
        "Tanh" => one(Named::Tanh),
        "Erf" => one(Named::Erf),
        "Exp" => one(Named::Exp),
        "Abs" => one(Named::Abs),
        "Neg" => Function::affine(-1.0, 0.0),
        "Softplus" => one(Named::Softplus),
        "Softsign" => one(Named::Softsign),
        "Sin" => one(Named::Sin),
        "Cos" => one(Named::Cos),
        "Sqrt" => one(Named::Sqrt),
        "Log" => one(Named::Log),
        "Reciprocal" => one(Named::Reciprocal),
        "Mish" => x.product(&one(Named::Tanh).of(&one(Named::Softplus))),
        "Elu" => one(Named::Elu(view.number("alpha", 1.0)?)),
        "Celu" => {
            let alpha = view.number("alpha", 1.0)?;
            // alpha (exp(x / alpha) - 1) below 0: an Elu of x / alpha, times alpha.
            if alpha <= 0.0 {
                return Err(view.unsupported(format!("alpha is {alpha}"), "use a positive alpha"));
            }
            let inner = one(Named::Elu(1.0)).of(&Function::affine(1.0 / alpha, 0.0));
            Function::affine(alpha, 0.0).of(&inner)
        }
        "Selu" => {
            let (alpha, gamma) = match view.opset {
                ..6 => (1.6732f32, 1.0507f32),
                _ => (1.673_263_2, 1.050_701),
            };
            let alpha = view.number("alpha", alpha.into())?;
            let gamma = view.number("gamma", gamma.into())?;
            Function::affine(gamma, 0.0).of(&one(Named::Elu(alpha)))
        }
        "Gelu" => match view.text("approximate")?.unwrap_or("none") {
            "none" => one(Named::Gelu),
            "tanh" => one(Named::GeluTanh),
            other => return Err(view.wrong(format!("approximate is {other:?}"))),
        },
        "Swish" => {
            let alpha = view.number("alpha", 1.0)?;
            x.product(&one(Named::Sigmoid).of(&Function::affine(alpha, 0.0)))
        }
        "HardSigmoid" => hard_sigmoid(view.number("alpha", f64::from(0.2f32))?, view.number("beta", 0.5)?),
        "HardSwish" => x.product(&hard_sigmoid(1.0 / 6.0, 0.5)),
        _ => return Ok(None),
    }))
}

fn hard_sigmoid(alpha: f64, beta: f64) -> Function {
    Function::named(Named::Clip(0.0, 1.0)).of(&Function::affine(alpha, beta))
}

/// A function of the first input of a node.
pub fn apply<'a>(reader: &mut Reader<'a>, view: &View<'a>, function: Function) -> Result<usize> {
    let input = reader.encrypted(view, 0)?;
    of(reader, view, input, function)
}

/// A function of every element of a value.
pub fn of<'a>(reader: &mut Reader<'a>, view: &View<'a>, input: usize, function: Function) -> Result<usize> {
    let shape = reader.shape(input).clone();
    let op = match function.coefficients().as_deref() {
        // A multiple and an offset belong to the linear maps around it.
        Some(&[offset, factor]) => {
            Op::Affine(Affine { run: 1, factors: vec![factor], offsets: vec![offset] })
        }
        _ => Op::Function(function),
    };
    reader.push(view, op, vec![input], shape)
}
