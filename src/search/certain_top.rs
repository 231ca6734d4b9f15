//! The true top k of the quantised model by branch and bound.
//!
//! Nodes are opened in the order of what their best row could reach (the ball bound of [`Bounds`]); as soon as that is
//! below the k-th best row so far, nothing that is left can matter. How much work it saves depends on the data: balls
//! in many dimensions are large, and on a flat layer it may open nearly everything. A node that the frontier has no
//! room for is scored at once, so the answer is right with any memory.
//!
//! [`Bounds`]: crate::tree::Bounds

use super::{Frontier, Offer, Top, Work};
use crate::math::Log2;
use crate::model::Model;
use crate::rows::Query;
use crate::tree::{Span, Tree, numbered};

pub(crate) fn certain_top(
    model: &Model<'_>,
    tree: &Tree<'_>,
    query: &Query,
    memory: &mut [u32],
    top: &mut Top<'_>,
) -> Work {
    let mut frontier = Frontier::new(memory);
    let (mut rows, mut nodes) = (0usize, 0usize);
    let mut scan = |span: Span, top: &mut Top<'_>| {
        // In a sound tree every row is looked at once; in a damaged one that was trusted, this is the end of it.
        if rows >= model.classes() {
            return;
        }
        rows = rows.saturating_add(span.rows);
        model.rows().for_each_score(span.first_row, span.rows, query, |row, score| top.offer(model, row, score));
    };
    let (mut first, mut count) = (0, tree.top());
    loop {
        nodes = nodes.saturating_add(count);
        tree.nodes().for_each_score(first, count, query, |node, score| {
            let span = tree.span(node);
            let bound = Log2::from_nats(tree.bounds(node).best(score, span.rows, query));
            // One by one: certainty costs so much that memory for families of one does not matter.
            let word = numbered(bound, 0);
            let fill = |words: &mut [i32]| {
                words.fill(word);
                word
            };
            if !frontier.push(node, 1, fill) {
                scan(span, top);
            }
        });
        // Leaves are dealt with here; an inner node continues the loop with its children.
        loop {
            match frontier.peek() {
                Some(next) if next.priority >= top.threshold() => {
                    frontier.pop();
                    let span = tree.span(next.node);
                    // The second condition only ever fails in a damaged tree that was trusted, and ends it.
                    if !span.is_leaf() && nodes <= tree.len() {
                        (first, count) = (span.first_child, span.children);
                        break;
                    }
                    scan(span, top);
                }
                _ => return Work::of(rows, nodes, model.rows().row_bytes()),
            }
        }
    }
}

/// Finds the top classes without a tree, by scoring all rows.
pub(crate) fn top_of_all(model: &Model<'_>, query: &Query, top: &mut Top<'_>) -> Work {
    model.rows().for_each_score(0, model.classes(), query, |row, score| top.offer(model, row, score));
    Work::of(model.classes(), 0, model.rows().row_bytes())
}
