//! Output layers in the branches of an `If`: networks with and without a cache of past steps, merged into one.
//!
//! If both branches end in the same layer with the same weights, the layer is moved behind the `If`, whose branches then
//! hand out their queries. The network computes the same, and is read, run and split as any other.

use std::collections::{HashMap, HashSet};

use super::graph::{Graph, Node, children, name_of};
use super::shapes::Shapes;
use crate::host::input::network::error::Obstacle;
use crate::host::input::network::protobuf::{Broken, Message, put_bytes};

/// More outputs than hold scores: bounds the work on a hostile file.
pub(super) const MOST: usize = 4;

/// A branch, and the part of it that is moved: from the layer to one of its outputs.
struct Branch<'a> {
    message: Message<'a>,
    /// The whole network, with the nodes of the branch at its end.
    graph: Graph<'a>,
    /// The index of its first node.
    first: usize,
    outputs: Vec<&'a str>,
    query: &'a str,
    /// The nodes that are moved, in their order.
    moved: Vec<usize>,
}

/// Returns the file with an output layer moved out of the branches of an `If`; `None` if there is no such layer.
pub(super) fn hoisted(file: &[u8]) -> Result<Option<Vec<u8>>, Obstacle> {
    let graph = Graph::parse(file)?;
    let shapes = Shapes::of(&graph);
    for (index, value) in conditional(&graph, &shapes) {
        let node = &graph.nodes[index];
        let Some(at) = node.outputs.iter().position(|&output| output == value) else { continue };
        let branches = branches(node)?;
        let [Some(one), Some(other)] = branches else { continue };
        let (Some(one), Some(other)) = (Branch::of(file, one, at)?, Branch::of(file, other, at)?) else { continue };
        if one.is_same(&other) {
            return rewritten(file, &graph, index, at, &one, &other).map(Some);
        }
    }
    Ok(None)
}

/// Returns the `If` nodes that outputs come from with no linear layer between them, each with its value.
fn conditional<'a>(graph: &Graph<'a>, shapes: &Shapes<'a>) -> Vec<(usize, &'a str)> {
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    let mut open: Vec<&str> = graph.outputs.iter().map(|output| output.name).collect();
    while let Some(value) = open.pop() {
        let Some(index) = graph.maker_index(value).filter(|_| seen.insert(value)) else { continue };
        match graph.nodes[index].op {
            "If" => found.push((index, value)),
            "Shape" | "Size" => {}
            _ if graph.linear(shapes, index).is_ok() => {}
            _ => open.extend(graph.nodes[index].inputs.iter().copied()),
        }
    }
    found
}

/// Returns the graphs of both branches.
fn branches<'a>(node: &Node<'a>) -> Result<[Option<Message<'a>>; 2], Broken> {
    let mut found = [None, None];
    for attribute in children(node.message, 5)? {
        let at = match name_of(attribute)? {
            "then_branch" => 0,
            "else_branch" => 1,
            _ => continue,
        };
        found[at] = children(attribute, 6)?.first().copied();
    }
    Ok(found)
}

impl<'a> Branch<'a> {
    /// Finds the layer that an output of a branch comes from.
    fn of(file: &'a [u8], message: Message<'a>, at: usize) -> Result<Option<Self>, Obstacle> {
        let mut graph = Graph::parse(file)?;
        let first = graph.enter(message)?;
        let outputs = children(message, 12)?.into_iter().map(name_of).collect::<Result<Vec<_>, _>>()?;
        let Some(&output) = outputs.get(at) else { return Ok(None) };
        let shapes = Shapes::of(&graph);
        let mut branch = Self { message, graph, first, outputs, query: "", moved: Vec::new() };
        let (mut layers, mut open, mut seen) = (Vec::new(), vec![output], HashSet::new());
        while let Some(value) = open.pop() {
            let Some(index) = branch.maker(value).filter(|index| seen.insert(*index)) else { continue };
            match branch.graph.linear(&shapes, index) {
                Ok(layer) => layers.push(layer),
                Err(_) => open.extend(branch.graph.nodes[index].inputs.iter().copied()),
            }
        }
        let [layer] = &layers[..] else { return Ok(None) };
        branch.query = layer.query;
        let body = branch.ancestors(layer.query);
        let mut moved = branch.ancestors(output);
        moved.retain(|index| !body.contains(index));
        // Constants that the body uses as well are moved too.
        let mut open: Vec<usize> = moved.iter().copied().collect();
        while let Some(index) = open.pop() {
            for &input in &branch.graph.nodes[index].inputs {
                let Some(maker) = branch.maker(input).filter(|maker| !moved.contains(maker)) else { continue };
                if input == branch.query {
                    continue;
                }
                // Something else of the body goes into what is behind the layer.
                if !branch.graph.is_constant(input) {
                    return Ok(None);
                }
                moved.insert(maker);
                open.push(maker);
            }
        }
        for &index in &moved {
            if !branch.graph.nodes[index].captured()?.is_empty() {
                return Ok(None);
            }
        }
        branch.moved = moved.into_iter().collect();
        branch.moved.sort_unstable();
        Ok(Some(branch))
    }

    /// Returns the node of the branch that makes a value.
    fn maker(&self, value: &str) -> Option<usize> {
        self.graph.maker_index(value).filter(|&index| index >= self.first)
    }

    /// Returns the nodes of the branch that a value comes from.
    fn ancestors(&self, value: &str) -> HashSet<usize> {
        let (mut found, mut open) = (HashSet::new(), vec![value]);
        while let Some(value) = open.pop() {
            if let Some(index) = self.maker(value).filter(|index| found.insert(*index)) {
                open.extend(self.graph.nodes[index].inputs.iter().copied());
                open.extend(self.graph.nodes[index].captured().unwrap_or_default());
            }
        }
        found
    }

    /// Returns the tensor of the branch itself, not of the network around it.
    fn own_tensors(&self) -> Result<HashSet<&'a str>, Broken> {
        children(self.message, 5)?
            .into_iter()
            .map(|tensor| {
                let mut name = "";
                tensor.each::<Broken>(|field| {
                    if field.number == 8 {
                        name = field.value.text()?;
                    }
                    Ok(())
                })?;
                Ok(name)
            })
            .collect()
    }

    /// Returns whether the moved parts of two branches compute the same of their queries.
    fn is_same(&self, other: &Self) -> bool {
        let mut names = HashMap::from([(self.query, other.query)]);
        if self.moved.len() != other.moved.len() {
            return false;
        }
        for (&a, &b) in self.moved.iter().zip(&other.moved) {
            let (a, b) = (&self.graph.nodes[a], &other.graph.nodes[b]);
            let is_alike = (a.op, a.foreign) == (b.op, b.foreign)
                && a.inputs.len() == b.inputs.len()
                && a.outputs.len() == b.outputs.len()
                && matches!((attributes(a), attributes(b)), (Ok(a), Ok(b)) if a == b);
            let inputs_fit = a.inputs.iter().zip(&b.inputs).all(|(&a, &b)| match names.get(a) {
                Some(&expected) => expected == b,
                None => match (self.graph.initializer(a), other.graph.initializer(b)) {
                    (Some(a), Some(b)) => a.is_same(b),
                    (None, None) => a == b && self.maker(a).is_none(),
                    _ => false,
                },
            });
            if !is_alike || !inputs_fit {
                return false;
            }
            names.extend(a.outputs.iter().copied().zip(b.outputs.iter().copied()));
        }
        true
    }

    /// Returns the branch with its query as the output `at`, called `name`, without the nodes that only the layer needed.
    fn handing_out_its_query(&self, at: usize, name: &str) -> Result<Vec<u8>, Obstacle> {
        let others = self.outputs.iter().enumerate().filter(|&(index, _)| index != at).map(|(_, &output)| output);
        let mut kept = HashSet::new();
        for value in others.clone().chain([self.query]) {
            kept.extend(self.ancestors(value));
        }
        let mut used: HashSet<&str> = others.chain([self.query]).collect();
        for &index in &kept {
            used.extend(self.graph.nodes[index].inputs.iter().copied());
            used.extend(self.graph.nodes[index].captured()?);
        }
        let (mut graph, mut node, mut output) = (Vec::new(), self.first, 0);
        self.message.each::<Obstacle>(|field| {
            let keep = match field.number {
                1 => {
                    node += 1;
                    kept.contains(&(node - 1))
                }
                5 => used.contains(super::tensor::Tensor::parse(field.value.message()?)?.name),
                12 => {
                    output += 1;
                    if output - 1 == at {
                        let mut info = Vec::new();
                        put_bytes(&mut info, 1, name.as_bytes());
                        put_bytes(&mut graph, 12, &info);
                    }
                    output - 1 != at
                }
                _ => true,
            };
            if keep {
                graph.extend_from_slice(field.raw);
            }
            Ok(())
        })?;
        // An output may be a value of the network around the branch only by a node of the branch.
        let mut identity = Vec::new();
        for (number, text) in [(1, self.query), (2, name), (3, name), (4, "Identity")] {
            put_bytes(&mut identity, number, text.as_bytes());
        }
        put_bytes(&mut graph, 1, &identity);
        Ok(graph)
    }
}

/// Returns the fields of a node beside its name and those of its values.
fn attributes<'a>(node: &Node<'a>) -> Result<Vec<&'a [u8]>, Broken> {
    let mut found = Vec::new();
    node.message.each::<Broken>(|field| {
        if !matches!(field.number, 1 | 2 | 3 | 6) {
            found.push(field.raw);
        }
        Ok(())
    })?;
    Ok(found)
}

/// Returns the file with the layer behind the `If`.
fn rewritten(
    file: &[u8],
    graph: &Graph<'_>,
    index: usize,
    at: usize,
    one: &Branch<'_>,
    other: &Branch<'_>,
) -> Result<Vec<u8>, Obstacle> {
    let conditional = &graph.nodes[index];
    let value = conditional.outputs[at];
    // Names of the branch may be used in the network as well.
    let fresh = |name: &str| format!("{value}/{name}");
    let query = fresh("query");
    let mut names = HashMap::from([(one.query, query.clone())]);
    let mut behind = Vec::new();
    let own = one.own_tensors()?;
    for &moved in &one.moved {
        let node = &one.graph.nodes[moved];
        for &input in &node.inputs {
            if own.contains(input) && !names.contains_key(input) {
                let tensor = one.graph.initializer(input).ok_or(Broken)?;
                put_bytes(&mut behind, 5, &tensor.renamed(&fresh(input))?);
                names.insert(input, fresh(input));
            }
        }
        for &output in node.outputs.iter().filter(|output| !output.is_empty()) {
            names.insert(output, if output == one.outputs[at] { value.to_owned() } else { fresh(output) });
        }
        let mut message = Vec::new();
        node.message.each::<Broken>(|field| {
            match field.number {
                1 | 2 => {
                    let name = field.value.text()?;
                    put_bytes(&mut message, field.number, names.get(name).map_or(name, String::as_str).as_bytes());
                }
                _ => message.extend_from_slice(field.raw),
            }
            Ok(())
        })?;
        put_bytes(&mut behind, 1, &message);
    }
    let (mut changed, mut output) = (Vec::new(), 0);
    conditional.message.each::<Obstacle>(|field| {
        match field.number {
            2 => {
                output += 1;
                let name = if output - 1 == at { query.as_bytes() } else { field.value.bytes()? };
                put_bytes(&mut changed, 2, name);
            }
            5 => {
                let attribute = field.value.message()?;
                let branch = match name_of(attribute)? {
                    "then_branch" => one,
                    "else_branch" => other,
                    _ => {
                        changed.extend_from_slice(field.raw);
                        return Ok(());
                    }
                };
                let mut message = Vec::new();
                let body = branch.handing_out_its_query(at, &fresh("branch_query"))?;
                attribute.each::<Broken>(|field| {
                    match field.number {
                        6 => put_bytes(&mut message, 6, &body),
                        _ => message.extend_from_slice(field.raw),
                    }
                    Ok(())
                })?;
                put_bytes(&mut changed, 5, &message);
            }
            _ => changed.extend_from_slice(field.raw),
        }
        Ok(())
    })?;
    let (mut whole, mut node) = (Vec::new(), 0);
    graph.message.each::<Broken>(|field| {
        if field.number == 1 {
            node += 1;
            if node - 1 == index {
                put_bytes(&mut whole, 1, &changed);
                whole.extend_from_slice(&behind);
                return Ok(());
            }
        }
        whole.extend_from_slice(field.raw);
        Ok(())
    })?;
    let mut out = Vec::with_capacity(whole.len() + 1024);
    Message(file).each::<Broken>(|field| {
        match field.number {
            7 => put_bytes(&mut out, 7, &whole),
            _ => out.extend_from_slice(field.raw),
        }
        Ok(())
    })?;
    Ok(out)
}
