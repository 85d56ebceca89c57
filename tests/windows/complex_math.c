/* Functions of complex numbers, which NumPy takes from ucrtbase.dll: every Windows 10 has them, Wine 8.0 has not. For tests under such a Wine alone.
 * Microsoft's C passes complex numbers as structs of two numbers, and its `long double` is a `double`. */
#include <complex.h>

typedef struct {
    double re, im;
} pair;
typedef struct {
    float re, im;
} pair_f;

static double complex from(pair a) { return __builtin_complex(a.re, a.im); }
static pair to(double complex a) { return (pair){ creal(a), cimag(a) }; }
static float complex from_f(pair_f a) { return __builtin_complex(a.re, a.im); }
static pair_f to_f(float complex a) { return (pair_f){ crealf(a), cimagf(a) }; }

#define COMPLEX(name)                                                  \
    pair wine_##name(pair a) { return to(name(from(a))); }             \
    pair wine_##name##l(pair a) { return to(name(from(a))); }          \
    pair_f wine_##name##f(pair_f a) { return to_f(name##f(from_f(a))); }
#define REAL(name)                                                     \
    double wine_##name(pair a) { return name(from(a)); }               \
    double wine_##name##l(pair a) { return name(from(a)); }            \
    float wine_##name##f(pair_f a) { return name##f(from_f(a)); }

COMPLEX(cacos) COMPLEX(cacosh) COMPLEX(casin) COMPLEX(casinh) COMPLEX(catan) COMPLEX(catanh)
COMPLEX(ccos) COMPLEX(ccosh) COMPLEX(cexp) COMPLEX(clog) COMPLEX(conj) COMPLEX(csin) COMPLEX(csinh)
COMPLEX(csqrt) COMPLEX(ctan) COMPLEX(ctanh)
REAL(cabs) REAL(carg) REAL(cimag) REAL(creal)

pair wine_cpow(pair a, pair b) { return to(cpow(from(a), from(b))); }
pair wine_cpowl(pair a, pair b) { return to(cpow(from(a), from(b))); }
pair_f wine_cpowf(pair_f a, pair_f b) { return to_f(cpowf(from_f(a), from_f(b))); }
