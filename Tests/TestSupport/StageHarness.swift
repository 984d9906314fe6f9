public import Pipeline

/// A stage as a black box: everything in, everything out, the end included.
public enum StageHarness {
    public static func run<Stage: Processor & ~Copyable>(_ stage: consuming Stage, _ inputs: [Stage.Input]) throws
        -> [Stage.Output]
    {
        var stage = stage
        var outputs: [Stage.Output] = []
        for input in inputs { try stage.process(input, into: &outputs) }
        try stage.finish(into: &outputs)
        return outputs
    }
}
