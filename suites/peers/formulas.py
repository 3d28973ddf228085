"""Workloads that read the same in every framework whose arrays slice, add and multiply as NumPy's do. What else they need is an argument."""


def entropy(x, softmax, log):
    p = softmax(x)
    return -(p * log(p + 1e-9)).sum(-1)


def sobel(x, sqrt):
    top, middle, bottom = x[:, :-2], x[:, 1:-1], x[:, 2:]

    def left(t):
        return t[:, :, :-2]

    def centre(t):
        return t[:, :, 1:-1]

    def right(t):
        return t[:, :, 2:]

    gx = right(top) - left(top) + 2 * (right(middle) - left(middle)) + right(bottom) - left(bottom)
    gy = left(bottom) - left(top) + 2 * (centre(bottom) - centre(top)) + right(bottom) - right(top)
    return sqrt(gx * gx + gy * gy + 1e-12)


def query_content(q, content, softmax):
    scores = (q * content).sum(-1) * 768**-0.5
    return (softmax(scores)[..., None] * content).sum(1)
