"""What is written otherwise in PyTorch: the errors that name the spelling here. It imports nothing of the project."""

import inspect

ADVICE = {
    "numpy": "t.data is the NumPy array",
    "view": "write t.reshape(shape)",
    "unsqueeze": "write t.expand_dims(axis)",
    "permute": "write t.transpose(axes)",
    "mT": "write t.swapaxes(-2, -1)",
    "t": "write t.T",
    "expand": "write t.broadcast_to(shape)",
    "repeat": "write t.broadcast_to(shape), or concatenate([t, t])",
    "pow": "write t ** n",
    "mm": "write t @ other",
    "bmm": "write t @ other",
    "masked_fill": "write where(mask, value, t)",
    "clamp": "write t.clip(low, high)",
    "argmax": "write t.data.argmax(axis): an index has no gradient",
    "argmin": "write t.data.argmin(axis): an index has no gradient",
    "clone": "t + 0 is a copy that passes the gradient on; no op changes a tensor, so none is needed",
    "contiguous": "an array is made contiguous where that is needed",
    "float": "its dtype is that of its array: Tensor(array.astype(np.float32))",
    "double": "its dtype is that of its array: Tensor(array.astype(np.float64))",
    "to": "its dtype is that of its array, as in Tensor(array.astype(np.float32)), and there is one device",
    "cpu": "there is one device",
    "cuda": "there is one device",
    "device": "there is one device",
    "grad_fn": "t.op is the op that made it",
    "retain_grad": "backward() keeps all gradients by itself",
    "register_hook": "write t.on_gradient(function)",
    "requires_grad_": "write t.requires_grad = True",
    "detach_": "write t.detach()",
    "zero_": "write t.data = np.zeros(t.shape)",
}


def no_attribute(tensor, name):
    """Called for an attribute that a Tensor has not."""
    advice = f": {ADVICE[name]}" if name in ADVICE else ""
    raise AttributeError(f"a Tensor has no attribute {name!r}{advice}", name=name, obj=tensor)


KEYWORDS = {
    "create_graph": "gradients are plain arrays, so there is no gradient of a gradient",
    "retain_graph": "leave it out: a graph lives as long as its loss, and a second pass is allowed",
    "dim": "it is called axis here, as in NumPy",
    "keepdim": "it is called keepdims here, as in NumPy",
    "correction": "it is called ddof here, as in NumPy, and is 0 if left out",
    "unbiased": "say ddof=1 to divide by n - 1, or ddof=0 to divide by n",
}


def refuse(function, words):
    """Keywords that a function has not; it names those that it has, which stand between its tensor and `**habits`."""
    takes = " and ".join(list(inspect.signature(function).parameters)[1:-1])
    for word in words:
        raise TypeError(f"{function.__name__}({word}=...): {KEYWORDS.get(word, f'it takes {takes}')}")


def check_axes_of_a_matrix(shape, axes):
    """transpose(-2, -1), which swaps two axes in PyTorch, and in NumPy keeps the order of a matrix.

    Raises:
        ValueError: the order is kept, or two axes are given for more of them.
    """
    asked = f"transpose({', '.join(map(str, axes))}) of shape {shape}"
    swap = f"swapaxes({', '.join(map(str, axes))}) exchanges two"
    if len(axes) == 2 and len(shape) > 2:
        raise ValueError(f"{asked}: transpose takes all axes in their new order; {swap}")
    if len(axes) == len(shape) == 2 and [axis % 2 for axis in axes] == [0, 1]:
        raise ValueError(f"{asked}: this is the order that it has, so nothing would change; {swap}")
