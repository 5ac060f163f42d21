//! Errors of models and their examples.

use super::errors;

errors! {
    /// Files and keys that do not serve a model.
    pub enum ModelError {
        /// It is not a compiled model.
        NotCompiled { name: String }:
            ("{name} is not a compiled model"),
            ("compile the ONNX file first, and give the plan that this writes");
        /// A row has another number of fields than the model takes.
        Columns { name: String, found: usize, expected: usize, inputs: String }:
            ("{name} has {found} columns, and the model takes {expected} numbers: {inputs}"),
            ("write each example as a row, flattened in the order of the model's inputs");
        /// The model does not take pictures.
        NotPictures { name: String, shape: Vec<usize> }:
            ("{name} is a folder, and the model takes inputs of {shape:?}, not pictures"),
            ("give a table with an example in each row");
        /// A folder has no picture.
        NoPictures { name: String }:
            ("there is no picture in {name}"),
            ("PNG, JPEG, BMP, TIFF and WebP are read");
        /// A picture has another size or other channels.
        Picture { name: String, found: [usize; 3], expected: [usize; 3] }:
            ("{name} has channels, rows and columns {found:?}, and the model takes {expected:?}"),
            ("scale the pictures to the size of the model's input");
        /// There is nothing to encrypt.
        NoExamples { model: String }:
            ("there are no examples for {model}"),
            ("give at least one");
        /// There are too many examples.
        TooMany { name: String, most: usize }:
            ("there are more than {most} examples in {name}"),
            ("divide them into several files");
        /// Keys or ciphertexts are of other parameters.
        OtherKeys { key: String, model: String }:
            ("{key} has other parameters than {model}"),
            ("use keys that were made for this model, and what was encrypted by them");
        /// The steps of an encoder are not recorded.
        Unrecorded { model: String }:
            ("{model} is an encoder of sentences, whose inferences are not recorded"),
            ("infer without a trace; networks of layers have one");
        /// There are no keys to refresh with.
        NoBootstrapKey { model: String }:
            ("{model} needs bootstrapping keys, and there are none"),
            ("give the file that was made with the other keys of this model");
    }
}
