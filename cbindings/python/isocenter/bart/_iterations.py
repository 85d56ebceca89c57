"""BART's iterations, step by step the same, so that as many of them give the same image.

They minimise |A x - y|^2 / 2 and penalties. `normal` is A^H A, `right` A^H y, `start` an image; `told` is called with each iteration's number and its residual.
"""
import math

import numpy

FAR = 1e6  # times the first residual


def _square(x):
    return float(numpy.vdot(x, x).real)


def _dot(a, b):
    return float(numpy.vdot(a, b).real)


def conjugate_gradient(normal, right, start, iterations, told=None, *, squares=0.0, tolerance=0.0):
    """For half of `squares` |x|^2 besides. Ends where the residual is `tolerance`. Returns the image and how many iterations there were."""
    x = start
    residual = right - normal(x) - numpy.float32(squares) * x if x.any() else right.copy()
    direction, now = residual.copy(), _square(residual)
    if now == 0:
        return x, 0
    for k in range(iterations):
        product = normal(direction) + numpy.float32(squares) * direction
        curvature = _dot(direction, product)
        if curvature == 0:
            return x, k
        step = numpy.float32(now / curvature)
        x = x + step * direction
        residual -= step * product
        before, now = now, _square(residual)
        if told:
            told(k, math.sqrt(now))
        if now <= tolerance**2:
            return x, k + 1
        direction = residual + numpy.float32(now / before) * direction
    return x, iterations


def thresholding(normal, right, start, iterations, step, penalty, told=None, *, accelerated):
    """Proximal gradient, or, accelerated, FISTA. Each iteration ends with the step along the gradient: the image that is returned was not made sparse after it. None
    where steps are too long."""
    x, before, ratio, begin = start, start, 1.0, math.sqrt(_square(right))
    for k in range(iterations):
        x = penalty.prox(step, x)
        if accelerated:
            following = (1 + math.sqrt(1 + 4 * ratio**2)) / 2
            x, before, ratio = x + numpy.float32((ratio - 1) / following) * (x - before), x, following
        residual = right - normal(x)
        size = math.sqrt(_square(residual)) / begin
        if told:
            told(k, size)
        if size > FAR:
            return None
        x = x + numpy.float32(step) * residual
    return x


def multipliers(normal, right, start, iterations, rho, inner, penalties, told=None, *, warm, relaxation=1.6, tolerance=1e-3):
    """ADMM of M. V. Afonso, J. M. Bioucas-Dias, M. A. T. Figueiredo, IEEE Trans. Image Process. 20, 2011. `iterations` are those of the conjugate gradient
    within, `inner` at most in each step."""
    x, spent = start, 0
    held = [p.map(x) * 0 for p in penalties]
    duals = [h.copy() for h in held]
    if warm:
        for k, p in enumerate(penalties):
            mapped = p.map(x)
            held[k] = p.prox(1 / rho, mapped)
            duals[k] = mapped - held[k]

    def system(x):
        return normal(x) + numpy.float32(rho) * sum(p.back(p.map(x)) for p in penalties)

    for k in range(iterations):
        wanted = right + numpy.float32(rho) * sum(p.back(h - u) for p, h, u in zip(penalties, held, duals))
        x, count = conjugate_gradient(system, wanted, x, inner, tolerance=tolerance * math.sqrt(_square(wanted)))
        spent += count
        apart = 0.0
        for j, p in enumerate(penalties):
            mapped = p.map(x)
            moved = numpy.float32(relaxation) * mapped + numpy.float32(1 - relaxation) * held[j] + duals[j]
            held[j] = p.prox(1 / rho, moved)
            duals[j] = moved - held[j]
            apart += _square(mapped - held[j])
        if told:
            told(k, math.sqrt(apart))
        if spent > iterations:
            break
    return x


def largest(normal, start, iterations=30):
    """The largest eigenvalue, nearly."""
    x, size = start / numpy.float32(math.sqrt(_square(start))), 1.0
    for _ in range(iterations):
        x = normal(x)
        size = math.sqrt(_square(x))
        if size == 0:
            break
        x = x / numpy.float32(size)
    return size
