//! The same seed gives the same bits, on every platform: these are what a device has to give as well.
//!
//! Everything goes through integers and basic float operations, from the layer on.

use rand_pcg::Pcg32;
use zhat::estimators::{
    Estimate, HeadBuffer, fmbe, mimps, mince, moments, moments_with_samples, nmimps, retrieve, self_normalised, uniform,
};
use zhat::format::FmbeKind;
use zhat::host::{flat_model, with_fmbe};
use zhat::math::Log2;
use zhat::{Budget, Classifier};

use super::support::{D, Memory, N, WORDS, clustered, query, tree_model};

fn bits(estimate: Estimate) -> (u32, u32) {
    (estimate.log_z().to_bits(), estimate.standard_error.map_or(0, f32::to_bits))
}

#[test]
fn fixed_seeds_give_fixed_bits() {
    let (rows, biases) = clustered(N, D, 1.0);
    let file = tree_model(&rows, &biases, 8, 100);
    let model = file.model();
    let query = query::<D>(&model, 1.5, 0);
    let budget = Budget { cap: 120, epsilon: 0.0, expand: 4 };
    let (mut memory, mut marks, mut noise) = (Memory::new(), [0; WORDS], [Log2::MIN; 40]);
    let mut buffer = HeadBuffer::<20>::new();
    let head = retrieve(&model, &query, &budget, &mut memory, &mut buffer).expect("a budget");
    let mut rng = Pcg32::new(42, 7);
    let solved = mince(&model, &query, 40, &head, &mut rng, &mut marks, &mut noise).expect("memory");
    let found = [
        bits(self_normalised()),
        bits(nmimps(&model, &head)),
        bits(uniform(&model, &query, 40, &mut rng, &mut marks).expect("memory")),
        bits(mimps(&model, &query, 40, &head, &mut rng, &mut marks).expect("memory")),
        (bits(solved).0, solved.iterations),
        bits(moments(&model, &query, &budget, &mut memory).expect("a budget")),
        bits(moments_with_samples(&model, &query, &budget, 25, &mut memory, &mut rng).expect("a budget")),
    ];
    let expected = [
        (0x0, 0x0),
        (0x40e60a4e, 0x0),
        (0x40f3caf2, 0x3eb70a1d),
        (0x40fe69e4, 0x3e0dcbcd),
        (0x4102fd7b, 0x3),
        (0x40f5660d, 0x0),
        (0x41008e2b, 0x3e565e35),
    ];
    assert_eq!(found, expected, "{found:#x?}");

    let classifier = Classifier::new(model).expect("a tree");
    let drawn: Vec<u32> =
        (0..8).map(|_| classifier.sample(&query, &mut memory, &mut rng).expect("memory").class).collect();
    assert_eq!(drawn, [181, 28, 246, 158, 237, 28, 242, 107]);
}

#[test]
fn random_features_are_the_same_everywhere() {
    let (rows, biases) = clustered(N, D, 0.5);
    let plain = flat_model(&rows, &biases).expect("valid");
    let found = [FmbeKind::Maclaurin, FmbeKind::Centred, FmbeKind::Positive].map(|kind| {
        let file = with_fmbe(&plain, kind, 200, 11).expect("small");
        let query = query::<D>(&file.model(), 0.7, 0);
        fmbe(&file.model(), &query).expect("a table").log_z().to_bits()
    });
    let expected = [0x40c5231d, 0x40c11719, 0x40cb3ec2];
    assert_eq!(found, expected, "{found:#x?}");
}
