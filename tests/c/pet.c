/* Bad input to isoc_pet_*: every case has its status and the words of its message, and the plan works afterwards. Contexts choose
   their device: the GPU where there is one. */
#include "check.h"

#include <stddef.h>

enum { SIDE_X = 10, SIDE_Y = 9, SIDE_Z = 4, VOXELS = SIDE_X * SIDE_Y * SIDE_Z, AZIMUTHS = 2, TILTS = 2, ALL = AZIMUTHS * TILTS, EVENTS = 8 };
enum { HISTOS = ALL * VOXELS, KERNEL = 3 };

static isoc_context *ctx, *lenient;
static isoc_pet *pet;
static float image[VOXELS], histos[HISTOS], factors[HISTOS], additive[HISTOS], out[VOXELS];
static uint32_t counts[HISTOS];
static float first[EVENTS][3], second[EVENTS][3];
static double times[EVENTS], listed[ALL][2];
static const int64_t image_shape[] = { SIDE_Z, SIDE_Y, SIDE_X }, histo_shape[] = { ALL, SIDE_Z, SIDE_Y, SIDE_X }, event_shape[] = { EVENTS, 3 };
static const int64_t list_shape[] = { ALL, 2 };

static isoc_tensor image_tensor(const float *data) { return tensor(data, 3, image_shape, ISOC_DTYPE_FLOAT, 32); }
static isoc_tensor histo_tensor(const float *data) { return tensor(data, 4, histo_shape, ISOC_DTYPE_FLOAT, 32); }
static isoc_tensor count_tensor(void) { return tensor(counts, 4, histo_shape, ISOC_DTYPE_UINT, 32); }
static isoc_tensor position_tensor(const float *p) { return tensor(p, 2, event_shape, ISOC_DTYPE_FLOAT, 32); }
static isoc_tensor time_tensor(void) { return tensor(times, 1, event_shape, ISOC_DTYPE_FLOAT, 64); }
static isoc_tensor list_tensor(void) { return tensor(listed, 2, list_shape, ISOC_DTYPE_FLOAT, 64); }

static isoc_pet_geometry geometry(void) {
    isoc_pet_geometry g;
    memset(&g, 0, sizeof g);
    g.struct_size = sizeof g, g.nx = SIDE_X, g.ny = SIDE_Y, g.nz = SIDE_Z, g.voxel_x = 8.0;
    g.azimuths = AZIMUTHS, g.tilts = TILTS, g.max_tilt = 0.2;
    return g;
}

static isoc_pet_response response(void) {
    isoc_pet_response r;
    memset(&r, 0, sizeof r);
    r.struct_size = sizeof r, r.tof_fwhm = 120.0, r.radial_fwhm = 9.0, r.axial_fwhm = 9.0;
    return r;
}

static isoc_pet_options options(void) {
    isoc_pet_options o;
    memset(&o, 0, sizeof o);
    o.struct_size = sizeof o, o.iterations = 2;
    return o;
}

static isoc_pet_prior usual_prior(void) {
    isoc_pet_prior u;
    memset(&u, 0, sizeof u);
    u.struct_size = sizeof u, u.strength = 0.1;
    return u;
}

static isoc_pet_body bodies[2];

static isoc_pet_scan usual_scan(void) {
    isoc_pet_scan s;
    memset(&s, 0, sizeof s);
    s.struct_size = sizeof s, s.bodies = bodies, s.body_count = 2, s.tof_fwhm = 120.0, s.radial_fwhm = 9.0;
    s.randoms = 0.2, s.scatter = 0.2;
    return s;
}

static void usual_data(void) {
    for (int k = 0; k < VOXELS; k++)
        image[k] = (float)(1 + k % 5), out[k] = -7.0f;
    for (int k = 0; k < HISTOS; k++) {
        histos[k] = (float)(k % 4), factors[k] = 0.5f + 0.01f * (float)(k % 30);
        additive[k] = 0.1f, counts[k] = (uint32_t)(k % 3);
    }
    for (int k = 0; k < EVENTS; k++) {
        first[k][0] = 400.0f, first[k][1] = (float)k, first[k][2] = 0.0f;
        second[k][0] = -400.0f, second[k][1] = (float)k, second[k][2] = 1.0f;
        times[k] = 10.0 * k;
    }
    for (int v = 0; v < ALL; v++)
        listed[v][0] = 0.7 * v, listed[v][1] = 0.05 * v;
    memset(bodies, 0, sizeof bodies);
    bodies[0].shape = ISOC_PET_SHAPE_CYLINDER, bodies[0].half_x = 30.0, bodies[0].half_z = 20.0;
    bodies[0].activity = 1.0, bodies[0].attenuation = 0.0096;
    bodies[1].shape = ISOC_PET_SHAPE_ELLIPSOID, bodies[1].half_x = 5.0, bodies[1].activity = 3.0;
}

/* A plan and data that work. */
static void set_up(isoc_context *context) {
    check_ok("isoc_pet_destroy", isoc_pet_destroy(pet));
    check_ok("isoc_pet_create", isoc_pet_create(context, &pet));
    usual_data();
    isoc_pet_geometry g = geometry();
    isoc_pet_response r = response();
    check_ok("isoc_pet_set_geometry", isoc_pet_set_geometry(pet, &g, NULL));
    check_ok("isoc_pet_set_response", isoc_pet_set_response(pet, &r));
}

static void works_afterwards(const char *name) {
    usual_data();
    isoc_tensor h = histo_tensor(histos), v = image_tensor(out);
    char line[160];
    snprintf(line, sizeof line, "%s: works afterwards", name);
    check_ok(line, isoc_pet_adjoint(pet, NULL, 0, &h, &v));
}

/* Sets up, changes something, and calls: the status, the words in the message, and the plan still works. */
#define BAD(name, change, call, status, ...)                                                                        \
    do {                                                                                                            \
        static const char *const words[] = { __VA_ARGS__, NULL };                                                   \
        set_up(ctx);                                                                                                \
        isoc_pet_geometry g = geometry();                                                                           \
        isoc_pet_response r = response();                                                                           \
        isoc_pet_options o = options();                                                                             \
        isoc_pet_scan s = usual_scan();                                                                                   \
        isoc_pet_tally tally;                                                                                       \
        isoc_pet_dropped dropped;                                                                                   \
        memset(&tally, 0, sizeof tally), memset(&dropped, 0, sizeof dropped);                                       \
        tally.struct_size = sizeof tally, dropped.struct_size = sizeof dropped, tally.decays = 100;                 \
        isoc_tensor l = list_tensor(), i = image_tensor(image), v = image_tensor(out), h = histo_tensor(histos);    \
        isoc_tensor a = histo_tensor(factors), b = histo_tensor(additive), c = count_tensor();                      \
        isoc_tensor p = position_tensor(first[0]), q = position_tensor(second[0]), t = time_tensor();                     \
        double number = 0.0;                                                                                        \
        (void)g, (void)r, (void)o, (void)s, (void)l, (void)i, (void)v, (void)h, (void)a, (void)b, (void)c, (void)p; \
        (void)q, (void)t, (void)number;                                                                             \
        change;                                                                                                     \
        if (check_status(name, call, ISOC_STATUS_##status, words))                                                  \
            report(name, 1, "");                                                                                    \
        works_afterwards(name);                                                                                     \
    } while (0)

#define GEOMETRY(field, value, status, ...) \
    BAD("geometry." #field, g.field = value, isoc_pet_set_geometry(pet, &g, NULL), status, __VA_ARGS__)
#define LIST(name, change, status, ...) \
    BAD("views: " name, (g.azimuths = 0, g.tilts = 0, change), isoc_pet_set_geometry(pet, &g, &l), status, __VA_ARGS__)
#define RESPONSE(field, value, status, ...) \
    BAD("response." #field, r.field = value, isoc_pet_set_response(pet, &r), status, __VA_ARGS__)
#define OPTION(field, value, status, ...) \
    BAD("options." #field, o.field = value, isoc_pet_set_options(pet, &o), status, __VA_ARGS__)
#define FORWARD(name, change, status, ...) \
    BAD("forward: " name, change, isoc_pet_forward(pet, NULL, 0, &i, &h), status, __VA_ARGS__)
#define RECONSTRUCT(name, change, status, ...) \
    BAD("reconstruct: " name, change, isoc_pet_reconstruct(pet, &h, &a, &b, &v), status, __VA_ARGS__)
#define DEPOSIT(name, change, status, ...) \
    BAD("deposit: " name, change, isoc_pet_deposit(pet, &p, &q, &t, &c, &dropped), status, __VA_ARGS__)
#define SIMULATE(name, change, status, ...) \
    BAD("simulate: " name, change, isoc_pet_simulate(pet, &s, NULL, &p, &q, &t, &tally), status, __VA_ARGS__)
#define EXPECT(name, change, status, ...) \
    BAD("expect: " name, change, isoc_pet_expect(pet, &s, NULL, &tally, &a, &b), status, __VA_ARGS__)

static void handles(void) {
    isoc_pet *none = NULL;
    check_status("create: no context", isoc_pet_create(NULL, &none), ISOC_STATUS_NULL_POINTER, NULL);
    check_status("create: no place", isoc_pet_create(ctx, NULL), ISOC_STATUS_NULL_POINTER, NULL);
    check_status("destroy: NULL", isoc_pet_destroy(NULL), ISOC_STATUS_OK, NULL);
    check_ok("create", isoc_pet_create(ctx, &none));
    isoc_tensor i = image_tensor(image), v = image_tensor(out), h = histo_tensor(histos), c = count_tensor();
    isoc_tensor p = position_tensor(first[0]), q = position_tensor(second[0]), t = time_tensor();
    isoc_pet_scan s = usual_scan();
    isoc_pet_tally tally;
    memset(&tally, 0, sizeof tally), tally.struct_size = sizeof tally;
    uint64_t bytes = 0;
    double number = 0.0, views[2 * ALL];
    const int64_t order[] = { 0 };
    const isoc_status early = ISOC_STATUS_NOT_CONFIGURED;
#define EARLY(call) check_status(#call, call, early, NULL)
    EARLY(isoc_pet_forward(none, NULL, 0, &i, &h));
    EARLY(isoc_pet_adjoint(none, NULL, 0, &h, &v));
    EARLY(isoc_pet_sensitivity(none, NULL, &v));
    EARLY(isoc_pet_reconstruct(none, &h, NULL, NULL, &v));
    EARLY(isoc_pet_deposit(none, &p, &q, &t, &c, NULL));
    EARLY(isoc_pet_factors(none, NULL, NULL, NULL, &h));
    EARLY(isoc_pet_detect(none, &p, &q, &t, NULL, 0, &c, &t, NULL));
    EARLY(isoc_pet_fan_sums(none, 0.0, &c, NULL, &c, NULL));
    EARLY(isoc_pet_singles(none, 0.0, 60.0, 100.0, &t, &t));
    EARLY(isoc_pet_efficiencies(none, 0.0, 0.0, NULL, &t, &i, NULL, NULL, &t));
    EARLY(isoc_pet_randoms(none, 60.0, 100.0, 0, &t, &h));
    EARLY(isoc_pet_scatter(none, NULL, &i, NULL, &i, NULL, NULL, &h, NULL));
    EARLY(isoc_pet_simulate(none, &s, NULL, &p, &q, &t, &tally));
    EARLY(isoc_pet_expect(none, &s, NULL, &tally, &h, NULL));
    EARLY(isoc_pet_phantom_image(none, bodies, 2, 0, &v));
    EARLY(isoc_pet_noise(none, &i, &number));
    EARLY(isoc_pet_memory(none, &bytes));
    EARLY(isoc_pet_factors_memory(none, NULL, NULL, &bytes, NULL));
    EARLY(isoc_pet_randoms_memory(none, 0, &bytes, NULL));
    EARLY(isoc_pet_scatter_memory(none, NULL, &i, &bytes, NULL));
    EARLY(isoc_pet_get_views(none, views, ALL, NULL));
    EARLY(isoc_pet_set_order(none, order, 1));
    isoc_pet_prior u = usual_prior();
    EARLY(isoc_pet_set_prior(none, &u, NULL, NULL));
    EARLY(isoc_pet_set_prior(none, &u, &i, &i));
    EARLY(isoc_pet_set_prior(none, NULL, NULL, NULL));
    EARLY(isoc_pet_prior_gradient(none, &i, &v, &number));
    EARLY(isoc_pet_set_regions(none, &c));
    EARLY(isoc_pet_set_regions(none, NULL));
    isoc_pet_geometry g = geometry();
    check_ok("set_geometry", isoc_pet_set_geometry(none, &g, NULL));
    EARLY(isoc_pet_forward(none, NULL, 0, &i, &h));
    EARLY(isoc_pet_reconstruct(none, &h, NULL, NULL, &v));
    EARLY(isoc_pet_prior_gradient(none, &i, &v, &number));
    isoc_pet_options o = options();
    isoc_pet_response r = response();
    o.order = ISOC_PET_ORDER_GIVEN;
    check_ok("set_options", isoc_pet_set_options(none, &o));
    check_ok("set_response", isoc_pet_set_response(none, &r));
    EARLY(isoc_pet_reconstruct(none, &h, NULL, NULL, &v));
    isoc_pet_scanner scanner;
    memset(&scanner, 0, sizeof scanner), scanner.struct_size = sizeof scanner;
    check_status("a scanner of a context", isoc_pet_set_scanner((isoc_pet *)ctx, &scanner, &p, NULL), ISOC_STATUS_INVALID_HANDLE, NULL);
    check_ok("destroy", isoc_pet_destroy(none));
    check_status("destroy twice", isoc_pet_destroy(none), ISOC_STATUS_INVALID_HANDLE, NULL);
    check_status("use after destroy", isoc_pet_deposit(none, &p, &q, &t, &c, NULL), ISOC_STATUS_INVALID_HANDLE, NULL);
    check_status("a context is no plan", isoc_pet_noise((isoc_pet *)ctx, &i, &number), ISOC_STATUS_INVALID_HANDLE, NULL);
}

static void geometries(void) {
    static const int64_t no_views[] = { 0, 2 };
    GEOMETRY(struct_size, 3, STRUCT_SIZE, "struct_size is 3");
    GEOMETRY(nx, 0, OUT_OF_RANGE, "nx is 0");
    GEOMETRY(ny, -1, OUT_OF_RANGE, "ny is -1");
    GEOMETRY(nz, INT64_MAX, OUT_OF_RANGE, "nz is 9223372036854775807");
    GEOMETRY(voxel_x, 0.0, OUT_OF_RANGE, "geometry.voxel_x is 0 mm");
    GEOMETRY(voxel_y, -4.0, OUT_OF_RANGE, "geometry.voxel_y is -4 mm");
    GEOMETRY(voxel_z, NAN, NOT_FINITE_PARAMETER, "geometry.voxel_z is NaN");
    GEOMETRY(azimuths, 0, OUT_OF_RANGE, "geometry.azimuths is 0");
    GEOMETRY(azimuths, 100000, OUT_OF_RANGE, "geometry.azimuths is 100000");
    GEOMETRY(tilts, 60000, OUT_OF_RANGE, "geometry.azimuths is 2 and geometry.tilts 60000, 120000 views");
    GEOMETRY(max_tilt, 0.0, OUT_OF_RANGE, "max_tilt is 0 rad");
    GEOMETRY(max_tilt, -0.1, OUT_OF_RANGE, "max_tilt is -0.1 rad");
    GEOMETRY(max_tilt, 10, OUT_OF_RANGE, "geometry.max_tilt is 10 rad", "below pi/2", "10 degrees would be 0.175 rad");
    GEOMETRY(max_tilt, NAN, NOT_FINITE_PARAMETER, "max_tilt is NaN");
    BAD("geometry: NULL", (void)0, isoc_pet_set_geometry(pet, NULL, NULL), NULL_POINTER, "NULL");
    LIST("NaN", listed[1][0] = NAN, NOT_FINITE_PARAMETER, "views[1] has an azimuth of NaN");
    LIST("a steep one", listed[3][1] = 0.3, OUT_OF_RANGE, "views[3] has a tilt of 0.3 rad", "max_tilt is 0.2");
    LIST("a repeated one", (listed[2][0] = listed[1][0] - PI, listed[2][1] = -listed[1][1]), OUT_OF_RANGE,
         "views[1] and views[2] are the same direction");
    LIST("beside azimuths", g.azimuths = ALL, OUT_OF_RANGE, "geometry.azimuths is 4 beside a list of views", "must be 0");
    LIST("beside tilts", g.tilts = 1, OUT_OF_RANGE, "geometry.tilts is 1 beside a list of views", "must be 0");
    LIST("none", l.shape = no_views, OUT_OF_RANGE, "views.shape[0] is 0");
    LIST("one number a view", l.ndim = 1, TENSOR_NDIM, "views.ndim is 1");
    LIST("no shape", l.shape = NULL, NULL_POINTER, "views.shape is NULL");
    LIST("integers", l.dtype.code = ISOC_DTYPE_UINT, TENSOR_DTYPE, "views.dtype");
    LIST("complex numbers", (l.dtype.code = ISOC_DTYPE_COMPLEX, l.dtype.bits = 64), TENSOR_DTYPE, "views.dtype");
    LIST("no data", l.data = NULL, NULL_POINTER, "views.data is NULL");
    /* A response that was fine is not, for a lattice as small as this: a call that needs it says so, and another one helps. */
    isoc_pet_geometry g = geometry();
    isoc_pet_response r = response();
    isoc_pet_table_sizes sizes;
    memset(&sizes, 0, sizeof sizes);
    sizes.struct_size = sizeof sizes;
    g.nx = 1;
    check_ok("a smaller lattice", isoc_pet_set_geometry(pet, &g, NULL));
    static const char *const reaches[] = { "response.tof_fwhm is 120 ps", "along x", "the lattice has 1", NULL };
    check_status("its tables", isoc_pet_get_table_sizes(pet, 0, &sizes), ISOC_STATUS_OUT_OF_RANGE, reaches);
    check_ok("its response", isoc_pet_set_response(pet, &r));
    check_status("its tables still", isoc_pet_get_table_sizes(pet, 0, &sizes), ISOC_STATUS_OUT_OF_RANGE, reaches);
    g.nx = geometry().nx, g.voxel_x = 500.0;
    check_ok("a coarse lattice", isoc_pet_set_geometry(pet, &g, NULL));
    static const char *const narrow[] = { "response.tof_fwhm is 120 ps", "it must be at least 157", "0.02 voxels of 500 mm", NULL };
    check_status("its tables", isoc_pet_get_table_sizes(pet, 0, &sizes), ISOC_STATUS_OUT_OF_RANGE, narrow);
    r.tof_fwhm = 9000.0, r.radial_fwhm = r.axial_fwhm = 1000.0;
    check_ok("a response that fits it", isoc_pet_set_response(pet, &r));
    check_ok("its tables", isoc_pet_get_table_sizes(pet, 0, &sizes));
    g = geometry(), r = response();
    check_ok("the first lattice", isoc_pet_set_geometry(pet, &g, NULL));
    check_ok("its response", isoc_pet_set_response(pet, &r));
}

/* What only a call that makes kernels finds; the usual response comes back. */
static isoc_status kernels_of(const isoc_pet_response *r) {
    isoc_pet_table_sizes sizes;
    memset(&sizes, 0, sizeof sizes);
    sizes.struct_size = sizeof sizes;
    check_ok("a response of lines", isoc_pet_set_response(pet, r));
    const isoc_status status = isoc_pet_get_table_sizes(pet, 0, &sizes);
    const isoc_pet_response usual = response();
    check_ok("the usual response", isoc_pet_set_response(pet, &usual));
    return status;
}

#define KERNELS(field, value, status, ...) \
    BAD("response." #field, r.field = value, kernels_of(&r), status, __VA_ARGS__)

static void responses(void) {
    static const double table[] = { 0.0, 9.0, 100.0, 12.0 }, falling[] = { 10.0, 9.0, 5.0, 9.0 };
    static const double cold[] = { 0.0, 9.0, 100.0, 0.0 };
    RESPONSE(struct_size, 1000, STRUCT_SIZE, "struct_size is 1000");
    RESPONSE(profile, 2, UNKNOWN_VALUE, "profile is 2");
    RESPONSE(cut, 2, UNKNOWN_VALUE, "cut is 2");
    KERNELS(tof_fwhm, 0.0, OUT_OF_RANGE, "response.tof_fwhm is 0, and histo-images are of times of flight", "isoc_pet_reconstruct_lines");
    RESPONSE(tof_fwhm, -400.0, OUT_OF_RANGE, "tof_fwhm", "is -400");
    RESPONSE(tof_fwhm, INFINITY, NOT_FINITE_PARAMETER, "tof_fwhm");
    KERNELS(tof_fwhm, 4000.0, OUT_OF_RANGE, "response.tof_fwhm is 4000 ps: kernels reach", "along x, where the lattice has 10", "it must be below 4");
    KERNELS(tof_fwhm, 1.2e5, OUT_OF_RANGE, "response.tof_fwhm is 120000 ps", "(120000 fs would be 120 ps)");
    RESPONSE(tof_fwhm, 0.3, OUT_OF_RANGE, "response.tof_fwhm is 0.3 ps", "it must be at least 2.51", "voxels of 8 mm (0.3 ns would be 300 ps)");
    RESPONSE(tof_fwhm, 3e-10, OUT_OF_RANGE, "response.tof_fwhm is 3e-10 ps", "(3e-10 s would be 300 ps)");
    RESPONSE(radial_fwhm, 0.0, OUT_OF_RANGE, "response.radial_fwhm is 0 mm");
    RESPONSE(radial_fwhm, -1.0, OUT_OF_RANGE, "response.radial_fwhm is -1 mm");
    RESPONSE(radial_fwhm, 0.009, OUT_OF_RANGE, "response.radial_fwhm is 0.009 mm", "it must be at least 0.377", "(0.009 m would be 9 mm)");
    RESPONSE(axial_fwhm, NAN, NOT_FINITE_PARAMETER, "axial_fwhm is NaN");
    KERNELS(axial_fwhm, 1e6, OUT_OF_RANGE, "response.axial_fwhm is 1000000 mm: kernels reach", "where the lattice has 10");
    RESPONSE(step, -2.0, OUT_OF_RANGE, "step is -2");
    RESPONSE(cut_width, -3.0, OUT_OF_RANGE, "cut", "is -3");
    RESPONSE(cut_width, NAN, NOT_FINITE_PARAMETER, "NaN");
    RESPONSE(radial_table_count, 2, NULL_POINTER, "radial_table is NULL");
    BAD("radial_table: not ascending", (r.radial_table_count = 2, r.radial_table = falling), isoc_pet_set_response(pet, &r),
        OUT_OF_RANGE, "response.radial_table[1, 0] is 5 mm after 10 mm");
    BAD("radial_table: a width of 0", (r.radial_table_count = 2, r.radial_table = cold), isoc_pet_set_response(pet, &r),
        OUT_OF_RANGE, "response.radial_table[1, 1] is 0 mm");
    BAD("asymmetric: ratio", (r.profile = 1, r.ratio = 0.5, r.share = 0.3), isoc_pet_set_response(pet, &r), OUT_OF_RANGE,
        "ratio is 0.5");
    BAD("asymmetric: share", (r.profile = 1, r.ratio = 1.5, r.share = 1.3), isoc_pet_set_response(pet, &r), OUT_OF_RANGE,
        "share is 1.3");
    BAD("response: NULL", (void)0, isoc_pet_set_response(pet, NULL), NULL_POINTER, "NULL");
    BAD("a table and asymmetry",
        (r.radial_table_count = 2, r.radial_table = table, r.profile = 1, r.ratio = 1.2, r.shift = 0.5, r.share = 0.3),
        isoc_pet_set_response(pet, &r), OK, NULL);
}

static void tables(void) {
    enum { PIXELS = SIDE_X * SIDE_Y };
    static uint32_t map[PIXELS];
    static int32_t offsets[KERNEL][3];
    static float values[KERNEL];
    isoc_pet_table_sizes sizes;
    memset(&sizes, 0, sizeof sizes);
    sizes.struct_size = sizeof sizes;
#define TABLES(name, change, status, ...)                                                                    \
    do {                                                                                                     \
        memset(map, 0, sizeof map);                                                                          \
        for (int k = 0; k < KERNEL; k++)                                                                     \
            offsets[k][0] = k - 1, offsets[k][1] = offsets[k][2] = 0, values[k] = 1.0f;                      \
        BAD("tables: " name, change, isoc_pet_set_tables(pet, 1, map, PIXELS, offsets[0], KERNEL, values, KERNEL), status, \
            __VA_ARGS__);                                                                                    \
    } while (0)
    TABLES("good ones", (void)0, OK, NULL);
    TABLES("an identifier too large", map[7] = 1, OUT_OF_RANGE, "map[0, 7] is 1", "1 kernels");
    TABLES("an offset beyond the lattice", offsets[2][1] = 50, OUT_OF_RANGE, "offsets[2] is 50 along y");
    TABLES("an offset twice", offsets[2][0] = 0, OUT_OF_RANGE, "repeats");
    TABLES("NaN", values[1] = NAN, NOT_FINITE_DATA, "values[0, 1] is NaN");
    TABLES("a value below 0", values[1] = -1.0f, OUT_OF_RANGE, "values[0, 1] is -1");
    TABLES("nothing", memset(values, 0, sizeof values), OUT_OF_RANGE, "values[0] are all 0");
    BAD("tables: view", (void)0, isoc_pet_set_tables(pet, ALL, map, PIXELS, offsets[0], KERNEL, values, KERNEL), OUT_OF_RANGE,
        "view is 4");
    BAD("tables: no offsets", (void)0, isoc_pet_set_tables(pet, 0, map, PIXELS, offsets[0], 0, values, KERNEL), OUT_OF_RANGE,
        "offset_count is 0");
    BAD("tables: values", (void)0, isoc_pet_set_tables(pet, 0, map, PIXELS, offsets[0], KERNEL, values, -1), OUT_OF_RANGE,
        "value_count is -1");
    BAD("tables: part of a kernel", (void)0, isoc_pet_set_tables(pet, 0, map, PIXELS, offsets[0], KERNEL, values, KERNEL + 1), OUT_OF_RANGE,
        "value_count is 4", "a multiple of offset_count, 3");
    BAD("tables: a map of another size", (void)0, isoc_pet_set_tables(pet, 0, map, PIXELS - 1, offsets[0], KERNEL, values, KERNEL),
        OUT_OF_RANGE, "map_count is 89", "9 x 10");
    BAD("tables: no map", (void)0, isoc_pet_set_tables(pet, 0, NULL, PIXELS, offsets[0], KERNEL, values, KERNEL), NULL_POINTER,
        "map is NULL");
    BAD("tables: no values", (void)0, isoc_pet_set_tables(pet, 0, map, PIXELS, offsets[0], KERNEL, NULL, KERNEL), NULL_POINTER,
        "values is NULL");
    BAD("table sizes: NULL", (void)0, isoc_pet_get_table_sizes(pet, 0, NULL), NULL_POINTER, "NULL");
    BAD("table sizes: view", (void)0, isoc_pet_get_table_sizes(pet, -1, &sizes), OUT_OF_RANGE, "view is -1");
    BAD("table sizes", (void)0, isoc_pet_get_table_sizes(pet, 0, &sizes), OK, NULL);
    expect("mass kept", sizes.least_mass > 0.95 && sizes.greatest_mass <= 1.0 + 1e-6 && sizes.kernels >= 1);
    isoc_pet_tables all;
    memset(&all, 0, sizeof all);
    BAD("get_tables: NULL", (void)0, isoc_pet_get_tables(pet, 0, NULL), NULL_POINTER, "isoc_pet_tables is NULL");
    BAD("get_tables: a short struct", all.struct_size = 8, isoc_pet_get_tables(pet, 0, &all), STRUCT_SIZE, "isoc_pet_tables.struct_size is 8");
    all.struct_size = sizeof all;
    BAD("get_tables: view", (void)0, isoc_pet_get_tables(pet, ALL, &all), OUT_OF_RANGE, "view is 4");
    BAD("tables are left out", (void)0, isoc_pet_get_tables(pet, 0, &all), OK, NULL);
    expect("their sizes are told", all.map_count == PIXELS && all.offset_count == sizes.offsets && all.mass_count == sizes.kernels
        && all.value_count == sizes.kernels * sizes.offsets);
    BAD("get_tables: no room", (all.map = map, all.map_capacity = PIXELS - 1), isoc_pet_get_tables(pet, 0, &all), OUT_OF_RANGE,
        "tables.map_capacity is 89", "at least 90");
    BAD("get_tables: nowhere", (all.map = NULL, all.map_capacity = PIXELS), isoc_pet_get_tables(pet, 0, &all), NULL_POINTER,
        "tables.map is NULL", "tables.map_capacity 90");
    BAD("get_tables: below 0", all.map_capacity = -1, isoc_pet_get_tables(pet, 0, &all), OUT_OF_RANGE, "tables.map_capacity is -1");
    BAD("get_tables: the map", (all.map = map, all.map_capacity = PIXELS), isoc_pet_get_tables(pet, 0, &all), OK, NULL);
}

static void all_options(void) {
    static const int64_t twice[] = { 1, 0, 1 }, far[] = { 0, 4 }, one[] = { 2 };
    OPTION(struct_size, 1000, STRUCT_SIZE, "struct_size is 1000");
    OPTION(algorithm, 5, UNKNOWN_VALUE, "algorithm is 5");
    OPTION(order, 3, UNKNOWN_VALUE, "order is 3");
    OPTION(projector, 3, UNKNOWN_VALUE, "projector is 3");
    OPTION(iterations, -1, OUT_OF_RANGE, "iterations is -1");
    OPTION(first_iteration, -1, OUT_OF_RANGE, "first_iteration is -1");
    OPTION(relaxation, -1.0, OUT_OF_RANGE, "relaxation is -1");
    OPTION(relaxation, 1.5, OUT_OF_RANGE, "relaxation is 1.5");
    OPTION(relaxation, NAN, NOT_FINITE_PARAMETER, "relaxation is NaN");
    OPTION(relaxation_decay, -0.1, OUT_OF_RANGE, "options.relaxation_decay is -0.1");
    OPTION(tolerance, -1.0, OUT_OF_RANGE, "tolerance is -1");
    OPTION(tolerance, 1.0, OUT_OF_RANGE, "tolerance is 1");
    OPTION(stop_change, -1e-3, OUT_OF_RANGE, "options.stop_change is -0.001", "at least 0");
    OPTION(stop_change, NAN, NOT_FINITE_PARAMETER, "options.stop_change is NaN");
    OPTION(stop_region_change, -1.0, OUT_OF_RANGE, "options.stop_region_change is -1", "at least 0");
    OPTION(stop_region_change, INFINITY, NOT_FINITE_PARAMETER, "options.stop_region_change is inf");
    BAD("options: NULL", (void)0, isoc_pet_set_options(pet, NULL), OK, NULL);
    BAD("options: more subsets than views",
        (o.algorithm = ISOC_PET_ALGORITHM_OSEM, o.subsets = 5, check_ok("options", isoc_pet_set_options(pet, &o))),
        isoc_pet_reconstruct(pet, &h, NULL, NULL, &v), OUT_OF_RANGE, "subsets is 5", "4 views");
    BAD("options: more subsets of BSREM than views",
        (o.algorithm = ISOC_PET_ALGORITHM_BSREM, o.subsets = UINT16_MAX, check_ok("options", isoc_pet_set_options(pet, &o))),
        isoc_pet_reconstruct(pet, &h, NULL, NULL, &v), OUT_OF_RANGE, "subsets is 65535", "4 views");
    BAD("options: more subsets of SVRG than views",
        (o.algorithm = ISOC_PET_ALGORITHM_SVRG, o.subsets = 5, check_ok("options", isoc_pet_set_options(pet, &o))),
        isoc_pet_reconstruct(pet, &h, NULL, NULL, &v), OUT_OF_RANGE, "subsets is 5", "4 views");
    BAD("options: a subset of SVRG for each view",
        (o.algorithm = ISOC_PET_ALGORITHM_SVRG, o.subsets = 4, check_ok("options", isoc_pet_set_options(pet, &o))),
        isoc_pet_reconstruct(pet, &h, NULL, NULL, &v), OK, NULL);
    BAD("order: twice", (void)0, isoc_pet_set_order(pet, twice, 3), OUT_OF_RANGE, "order[2] is 1");
    BAD("order: beyond", (void)0, isoc_pet_set_order(pet, far, 2), OUT_OF_RANGE, "order[1] is 4");
    BAD("order: none", (void)0, isoc_pet_set_order(pet, far, 0), OUT_OF_RANGE, "order_count is 0");
    BAD("order: NULL", (void)0, isoc_pet_set_order(pet, NULL, 2), NULL_POINTER, "order is NULL");
    BAD("order: one view",
        (o.order = ISOC_PET_ORDER_GIVEN, check_ok("order", isoc_pet_set_order(pet, one, 1)),
         check_ok("options", isoc_pet_set_options(pet, &o))),
        isoc_pet_reconstruct(pet, &h, &a, &b, &v), OK, NULL);
}

static void arrays(void) {
    static const int64_t flat[] = { VOXELS }, wide[] = { SIDE_Z, SIDE_Y, SIDE_X + 1 }, three[] = { 3, SIDE_Z, SIDE_Y, SIDE_X };
    static const int64_t still[] = { 0, SIDE_X, 1 }, back[] = { -SIDE_X * SIDE_Y, SIDE_X, 1 }, odd[] = { SIDE_X * SIDE_Y, SIDE_X, 2 };
    static const int64_t huge[] = { INT64_MAX, SIDE_X, 1 }, chosen[] = { 0, 9 };
    FORWARD("image: dimensions", (i.ndim = 1, i.shape = flat), TENSOR_NDIM, "image.ndim is 1");
    FORWARD("image: shape", i.shape = wide, TENSOR_SHAPE, "image.shape[2] is 11", "must be 10");
    FORWARD("image: counts", i.dtype.code = ISOC_DTYPE_UINT, TENSOR_DTYPE, "image.dtype");
    FORWARD("image: double", i.dtype.bits = 64, TENSOR_DTYPE, "image.dtype");
    FORWARD("image: no data", i.data = NULL, NULL_POINTER, "image.data is NULL");
    FORWARD("image: no shape", i.shape = NULL, NULL_POINTER, "image.shape is NULL");
    FORWARD("image: not aligned", i.byte_offset = 1, TENSOR_STRIDES, "aligned");
    FORWARD("image: before its data", i.strides = back, TENSOR_STRIDES, "before its data");
    FORWARD("image: strides", i.strides = huge, TENSOR_STRIDES, "address space");
    FORWARD("image: another device", i.device.device_type = 77, TENSOR_DEVICE, "device type 77");
    FORWARD("histo-images: views", h.shape = three, TENSOR_SHAPE, "shape[0] is 3", "must be 4");
    FORWARD("overlap", h.data = image, OVERLAP, "share memory");
    FORWARD("NaN", image[3] = NAN, NOT_FINITE_DATA, "image[0, 0, 3] is NaN");
    BAD("forward: NULL", (void)0, isoc_pet_forward(pet, NULL, 0, NULL, &h), NULL_POINTER, "image is NULL");
    BAD("forward: no room", (void)0, isoc_pet_forward(pet, NULL, 0, &i, NULL), NULL_POINTER, "is NULL");
    BAD("forward: a view beyond", (void)0, isoc_pet_forward(pet, chosen, 2, &i, &h), OUT_OF_RANGE, "views[1] is 9");
    BAD("forward: no views", (void)0, isoc_pet_forward(pet, chosen, 0, &i, &h), OUT_OF_RANGE, "view_count is 0");
    BAD("adjoint: elements that coincide", v.strides = still, isoc_pet_adjoint(pet, NULL, 0, &h, &v), TENSOR_STRIDES,
        "share memory");
    BAD("adjoint: elements apart", v.strides = odd, isoc_pet_adjoint(pet, NULL, 0, &h, &v), TENSOR_STRIDES,
        "share memory");
    BAD("adjoint: NULL", (void)0, isoc_pet_adjoint(pet, NULL, 0, &h, NULL), NULL_POINTER, "image is NULL");
    BAD("sensitivity: below 0", factors[5] = -1.0f, isoc_pet_sensitivity(pet, &a, &v), OUT_OF_RANGE,
        "factors[0, 0, 5] is -1", "must not be below 0");
    BAD("get_views: too few", (void)0, isoc_pet_get_views(pet, listed[0], ALL - 1, NULL), OUT_OF_RANGE, "capacity is 3", "at least 4");
    BAD("get_views: NULL", (void)0, isoc_pet_get_views(pet, NULL, ALL, NULL), NULL_POINTER, "views is NULL");
    BAD("memory: NULL", (void)0, isoc_pet_memory(pet, NULL), NULL_POINTER, "bytes is NULL");
    BAD("info: NULL", (void)0, isoc_pet_get_info(pet, NULL), NULL_POINTER, "NULL");
    BAD("history: nowhere", (void)0, isoc_pet_history(pet, NULL, 1, NULL), NULL_POINTER, "iterations is NULL", "capacity 1");
    BAD("history: below 0", (void)0, isoc_pet_history(pet, NULL, -1, NULL), OUT_OF_RANGE, "capacity is -1");
}

static int sound(const float *values, size_t count) {
    for (size_t k = 0; k < count; k++)
        if (!isfinite(values[k]))
            return 0;
    return 1;
}

static void reconstructions(void) {
    RECONSTRUCT("counts below 0", histos[11] = -1.0f, OUT_OF_RANGE, "[0, 0, 1, 1] is -1", "must not be below 0");
    RECONSTRUCT("counts of NaN", histos[0] = NAN, NOT_FINITE_DATA, "[0, 0, 0, 0] is NaN");
    RECONSTRUCT("a factor below 0", factors[VOXELS] = -0.5f, OUT_OF_RANGE, "factors[1, 0, 0, 0] is -0.5");
    RECONSTRUCT("an infinite factor", factors[2] = INFINITY, NOT_FINITE_DATA, "factors[0, 0, 0, 2] is inf");
    RECONSTRUCT("an additive part below 0", additive[1] = -1e-3f, OUT_OF_RANGE, "additive[0, 0, 0, 1] is -0.001");
    RECONSTRUCT("integer factors", a.dtype.code = ISOC_DTYPE_UINT, TENSOR_DTYPE, "factors.dtype");
    RECONSTRUCT("overlap", v.data = histos, OVERLAP, "share memory");
    BAD("reconstruct: NULL", (void)0, isoc_pet_reconstruct(pet, NULL, &a, &b, &v), NULL_POINTER, "measured is NULL");
    BAD("reconstruct: no image", (void)0, isoc_pet_reconstruct(pet, &h, &a, &b, NULL), NULL_POINTER, "image is NULL");
    /* Not bad, only unusual: finite and not negative all the same. */
    RECONSTRUCT("factors above 1", factors[7] = 50.0f, OK, NULL);
    RECONSTRUCT("no factor at all", memset(factors, 0, sizeof factors), OK, NULL);
    int zero = 1;
    memset(factors, 0, sizeof factors);
    isoc_tensor h = histo_tensor(histos), a = histo_tensor(factors), v = image_tensor(out), c = count_tensor();
    check_ok("nothing is seen", isoc_pet_reconstruct(pet, &h, &a, NULL, &v));
    for (int k = 0; k < VOXELS; k++)
        zero &= out[k] == 0.0f;
    expect("what no view sees is 0", zero);
    set_up(ctx);
    factors[7] = 50.0f;
    check_ok("factors above 1", isoc_pet_reconstruct(pet, &h, &a, NULL, &v));
    expect("factors above 1: finite", sound(out, VOXELS));
    for (int k = 0; k < HISTOS; k++)
        factors[k] = k % SIDE_X < SIDE_X / 2 ? 0.0f : 1.0f, counts[k] = UINT32_MAX;
    for (uint32_t algorithm = 0; algorithm < 5; algorithm++) {
        isoc_pet_options o = options();
        o.algorithm = algorithm;
        check_ok("options", isoc_pet_set_options(pet, &o));
        check_ok("half of it is not seen, counts are large", isoc_pet_reconstruct(pet, &c, &a, NULL, &v));
        expect("half of it is not seen: finite", sound(out, VOXELS));
        memset(histos, 0, sizeof histos);
        check_ok("no counts", isoc_pet_reconstruct(pet, &h, NULL, NULL, &v));
        expect("no counts: finite", sound(out, VOXELS));
    }
}

static void empty_list(void) {
    static const int64_t none[] = { 0 };
    set_up(ctx);
    isoc_tensor t = time_tensor(), c = count_tensor();
    isoc_pet_dropped dropped;
    memset(&dropped, 0x55, sizeof dropped);
    dropped.struct_size = sizeof dropped;
    t.shape = none, t.data = NULL;
    check_ok("no events", isoc_pet_deposit(pet, NULL, NULL, &t, &c, &dropped));
    expect("no events are dropped", dropped.events == 0 && dropped.overflow == 0);
}

static void events(void) {
    static const int64_t two[] = { EVENTS, 2 }, fewer[] = { EVENTS - 1, 3 }, none[] = { 0, 3 }, minus[] = { -1 }, square[] = { 2, 4 };
    static const int64_t huge[] = { INT64_MAX }, still[] = { 0, 0, 0, 0 };
    DEPOSIT("positions of two numbers", p.shape = two, TENSOR_SHAPE, "first_positions.shape[1] is 2", "must be 3");
    DEPOSIT("fewer positions", q.shape = fewer, TENSOR_SHAPE, "second_positions.shape[0] is 7", "must be 8");
    DEPOSIT("complex positions", (p.dtype.code = ISOC_DTYPE_COMPLEX, p.dtype.bits = 64), TENSOR_DTYPE,
            "first_positions.dtype", "F64");
    DEPOSIT("whole times", t.dtype.code = ISOC_DTYPE_UINT, TENSOR_DTYPE, "time_differences.dtype");
    DEPOSIT("times in a plane", (t.ndim = 2, t.shape = square), TENSOR_NDIM, "time_differences.ndim is 2");
    DEPOSIT("less than no events", t.shape = minus, OUT_OF_RANGE, "time_differences.shape[0] is -1");
    DEPOSIT("more events than there can be", t.shape = huge, OUT_OF_RANGE, "9223372036854775807");
    DEPOSIT("no shape", t.shape = NULL, NULL_POINTER, "time_differences.shape is NULL");
    DEPOSIT("no data", q.data = NULL, NULL_POINTER, "second_positions.data is NULL");
    DEPOSIT("histo-images that coincide", c.strides = still, TENSOR_STRIDES, "share memory");
    DEPOSIT("histo-images of doubles", (c.dtype.code = ISOC_DTYPE_FLOAT, c.dtype.bits = 64), TENSOR_DTYPE,
            "histo_images.dtype");
    DEPOSIT("overlap", c.data = (void *)first, OVERLAP, "first_positions", "histo_images", "share memory");
    DEPOSIT("a short struct", dropped.struct_size = 8, STRUCT_SIZE, "struct_size is 8");
    DEPOSIT("a short struct for no events", (t.shape = p.shape = q.shape = none, dropped.struct_size = 8), STRUCT_SIZE,
            "struct_size is 8");
    DEPOSIT("positions without times", t.shape = none, TENSOR_SHAPE, "first_positions.shape[0] is 8", "must be 0");
    BAD("deposit: no list", (void)0, isoc_pet_deposit(pet, &p, &q, NULL, &c, NULL), NULL_POINTER,
        "time_differences is NULL");
    BAD("deposit: no positions", (void)0, isoc_pet_deposit(pet, NULL, &q, &t, &c, NULL), NULL_POINTER,
        "first_positions is NULL");
    BAD("deposit: no histo-images", (void)0, isoc_pet_deposit(pet, &p, &q, &t, NULL, NULL), NULL_POINTER,
        "histo_images is NULL");
    BAD("deposit: uncounted", (void)0, isoc_pet_deposit(pet, &p, &q, &t, &c, NULL), OK, NULL);

    /* One event for each cause; the sixth finds its voxel full, the last two are counted. */
    set_up(ctx);
    isoc_tensor p = position_tensor(first[0]), q = position_tensor(second[0]), t = time_tensor(), c = count_tensor();
    isoc_pet_dropped dropped;
    memset(&dropped, 0, sizeof dropped);
    dropped.struct_size = sizeof dropped;
    for (int k = 0; k < HISTOS; k++)
        counts[k] = 1;
    memset(times, 0, sizeof times);
    for (int k = 0; k < EVENTS; k++)
        first[k][1] = second[k][1] = k == 5 ? -20.0f : 0.0f;
    first[0][1] = NAN;
    times[1] = INFINITY;
    memcpy(second[2], first[2], sizeof first[2]);
    /* Along the axis: as steep as can be. */
    first[3][0] = second[3][0] = 0.0f, first[3][2] = 300.0f, second[3][2] = -300.0f;
    times[4] = 2000.0;
    /* The voxel of y = -20 in the view of azimuth 0 whose tilts are below 0: z is 0.5 between the middle ones. */
    const int full = ((0 * SIDE_Z + 2) * SIDE_Y + 2) * SIDE_X + 5;
    counts[full] = UINT32_MAX;
    check_ok("deposit", isoc_pet_deposit(pet, &p, &q, &t, &c, &dropped));
    expect("NaN and Inf", dropped.not_finite == 2);
    expect("equal positions", dropped.equal_positions == 1);
    expect("on the axis", dropped.outside_tilts == 1);
    expect("outside", dropped.outside_lattice == 1);
    expect("a full voxel", dropped.overflow == 1 && counts[full] == UINT32_MAX);
    expect("all of them", dropped.events == 6);
    uint64_t sum = 0;
    for (int k = 0; k < HISTOS; k++)
        sum += counts[k];
    expect("the others are counted", sum == (uint64_t)UINT32_MAX + HISTOS - 1 + 2);
    /* f32 counts are added as well. */
    isoc_tensor h = histo_tensor(histos);
    memset(histos, 0, sizeof histos);
    check_ok("deposit in f32", isoc_pet_deposit(pet, &p, &q, &t, &h, &dropped));
    expect("full no more", dropped.overflow == 0 && dropped.events == 5 && histos[full] == 1.0f);
    /* A coarse grid's views repeat for nobody: a list works too. */
    isoc_pet_geometry g = geometry();
    isoc_tensor l = list_tensor();
    g.azimuths = g.tilts = 0;
    check_ok("views of a list", isoc_pet_set_geometry(pet, &g, &l));
    check_ok("deposit in them", isoc_pet_deposit(pet, &p, &q, &t, &h, &dropped));
    expect("the same are dropped", dropped.events == 5);
}

static void simulations(void) {
    static const int64_t still[] = { 0, 1 }, wide[] = { SIDE_Z, SIDE_Y, SIDE_X + 1 };
    SIMULATE("as it is", (void)0, OK, NULL);
    SIMULATE("a short struct", s.struct_size = 8, STRUCT_SIZE, "isoc_pet_scan.struct_size is 8");
    SIMULATE("a short tally", tally.struct_size = 8, STRUCT_SIZE, "isoc_pet_tally.struct_size is 8");
    SIMULATE("no bodies", s.body_count = 0, OUT_OF_RANGE, "body_count is 0");
    SIMULATE("bodies of NULL", s.bodies = NULL, NULL_POINTER, "bodies is NULL");
    SIMULATE("shape", bodies[1].shape = 3, UNKNOWN_VALUE, "bodies[1].shape is 3");
    SIMULATE("an elliptic cylinder", bodies[0].half_y = 9.0, OUT_OF_RANGE, "bodies[0].half_y is 9");
    SIMULATE("a flat body", bodies[1].half_x = 0.0, OUT_OF_RANGE, "bodies[1]", "above 0");
    SIMULATE("NaN", bodies[1].y = NAN, NOT_FINITE_PARAMETER, "bodies[1]");
    SIMULATE("infinite activity", bodies[0].activity = INFINITY, NOT_FINITE_PARAMETER, "bodies[0]", "activity");
    SIMULATE("no activity", bodies[0].activity = bodies[1].activity = 0.0, OUT_OF_RANGE, "no activity");
    SIMULATE("diameter", s.diameter = -1.0, OUT_OF_RANGE, "diameter is -1");
    SIMULATE("length", s.axial_length = NAN, OUT_OF_RANGE, "axial_length is NaN");
    SIMULATE("time", s.tof_fwhm = -1.0, OUT_OF_RANGE, "scan.tof_fwhm is -1 ps");
    SIMULATE("radial", s.radial_fwhm = -1.0, OUT_OF_RANGE, "scan.radial_fwhm is -1 mm");
    SIMULATE("radial table", s.radial_table_count = 3, NULL_POINTER, "radial_table is NULL");
    SIMULATE("randoms", s.randoms = 0.9, OUT_OF_RANGE, "scan.randoms is 0.9", "scan.scatter 0.2", "below 1");
    SIMULATE("scatter", s.scatter = -0.1, OUT_OF_RANGE, "-0.1");
    SIMULATE("window", s.random_window = -3.0, OUT_OF_RANGE, "window is -3");
    SIMULATE("scatter's width", s.scatter_sigma = -3.0, OUT_OF_RANGE, "scatter_sigma is -3");
    /* With an energy window, the bodies scatter instead. */
    SIMULATE("a caller that knows of no energies", s.struct_size = (uint32_t)offsetof(isoc_pet_scan, energy_resolution), OK, NULL);
    /* Of detectors so near, a body so dense and lines so steep that most photons are measured: thousands are drawn for their part of the events. */
    SIMULATE("an energy window",
             (s.scatter = 0.0, s.energy_resolution = 0.11, s.diameter = s.axial_length = 100.0, bodies[0].attenuation = 0.04, g.max_tilt = 1.0,
              check_ok("steep lines", isoc_pet_set_geometry(pet, &g, NULL))),
             OK, NULL);
    SIMULATE("scatter beside it", s.energy_resolution = 0.11, OUT_OF_RANGE, "scan.scatter is 0.2 beside an energy window", "must be 0");
    SIMULATE("a lower edge alone", s.energy_lower = 435.0, OUT_OF_RANGE, "scan.energy_resolution is 0", "above 0");
    SIMULATE("an upper edge alone", s.energy_upper = NAN, OUT_OF_RANGE, "scan.energy_resolution is 0");
    SIMULATE("resolution in percent", (s.scatter = 0.0, s.energy_resolution = 11.0), OUT_OF_RANGE, "scan.energy_resolution is 11", "at most 1");
    SIMULATE("resolution below 0", (s.scatter = 0.0, s.energy_resolution = -0.1), OUT_OF_RANGE, "scan.energy_resolution is -0.1");
    SIMULATE("resolution of NaN", (s.scatter = 0.0, s.energy_resolution = NAN), NOT_FINITE_PARAMETER, "scan.energy_resolution is NaN");
    SIMULATE("a lower edge above 511 keV", (s.scatter = 0.0, s.energy_resolution = 0.11, s.energy_lower = 600.0), OUT_OF_RANGE,
             "scan.energy_lower is 600 keV", "below 511");
    SIMULATE("an upper edge in MeV", (s.scatter = 0.0, s.energy_resolution = 0.11, s.energy_upper = 0.5), OUT_OF_RANGE,
             "scan.energy_upper is 0.5 keV", "above 511");
    SIMULATE("nothing that scatters", (s.scatter = 0.0, s.energy_resolution = 0.11, bodies[0].attenuation = 0.0), OUT_OF_RANGE, "nothing scatters");
    SIMULATE("overlap", q.data = first, OVERLAP, "share memory");
    SIMULATE("events that coincide", p.strides = still, TENSOR_STRIDES, "share memory");
    SIMULATE("whole times", t.dtype.code = ISOC_DTYPE_UINT, TENSOR_DTYPE, "time_differences.dtype");
    BAD("simulate: NULL", (void)0, isoc_pet_simulate(pet, NULL, NULL, &p, &q, &t, &tally), NULL_POINTER, "isoc_pet_scan");
    BAD("simulate: no tally", (void)0, isoc_pet_simulate(pet, &s, NULL, &p, &q, &t, NULL), NULL_POINTER, "isoc_pet_tally");
    BAD("simulate: an image", (void)0, isoc_pet_simulate(pet, &s, &i, &p, &q, &t, &tally), OK, NULL);
    BAD("simulate: an image below 0", image[9] = -1.0f, isoc_pet_simulate(pet, &s, &i, &p, &q, &t, &tally), OUT_OF_RANGE,
        "voxel 9 is -1");
    BAD("simulate: an image of NaN", image[9] = NAN, isoc_pet_simulate(pet, &s, &i, &p, &q, &t, &tally),
        NOT_FINITE_DATA, "activity[0, 0, 9] is NaN");
    BAD("simulate: another image", i.shape = wide, isoc_pet_simulate(pet, &s, &i, &p, &q, &t, &tally), TENSOR_SHAPE,
        "activity.shape[2] is 11");
    EXPECT("as it is", (void)0, OK, NULL);
    EXPECT("an energy window", (s.scatter = 0.0, s.energy_resolution = 0.11), OK, NULL);
    EXPECT("scatter beside it", s.energy_resolution = 0.11, OUT_OF_RANGE, "scan.scatter is 0.2", "must be 0");
    EXPECT("counts", a.dtype.code = ISOC_DTYPE_UINT, TENSOR_DTYPE, "factors.dtype");
    EXPECT("overlap", b.data = factors, OVERLAP, "share memory");
    EXPECT("a short tally", tally.struct_size = 4, STRUCT_SIZE, "struct_size is 4");
    BAD("expect: nothing", (void)0, isoc_pet_expect(pet, &s, NULL, &tally, NULL, NULL), OK, NULL);
    BAD("expect: no scan", (void)0, isoc_pet_expect(pet, NULL, NULL, &tally, &a, NULL), NULL_POINTER, "isoc_pet_scan");
    BAD("expect: no tally", (void)0, isoc_pet_expect(pet, &s, NULL, NULL, &a, NULL), NULL_POINTER, "isoc_pet_tally");
    BAD("phantom: quantity", (void)0, isoc_pet_phantom_image(pet, bodies, 2, 2, &v), UNKNOWN_VALUE, "quantity is 2");
    BAD("phantom: NULL", (void)0, isoc_pet_phantom_image(pet, bodies, 2, 0, NULL), NULL_POINTER, "image is NULL");
    BAD("phantom: too many bodies", (void)0, isoc_pet_phantom_image(pet, bodies, INT64_MAX, 0, &v), OUT_OF_RANGE,
        "body_count is 9223372036854775807");
    BAD("phantom", (void)0, isoc_pet_phantom_image(pet, bodies, 2, 1, &v), OK, NULL);
}

static void merits(void) {
    /* The ring of 40 mm about the middle is all that fits into the lattice; the central disc does as well. */
    static const double middle[] = { 0.0, 0.0, 0.0 }, aside[] = { 30.0, 0.0, 0.0 }, lost[] = { 0.0, NAN, 0.0 };
    BAD("contrast", (void)0, isoc_pet_contrast_recovery(pet, &i, middle, 1, 4.0, &number), OK, NULL);
    BAD("contrast: outside", (void)0, isoc_pet_contrast_recovery(pet, &i, aside, 1, 4.0, &number), OUT_OF_RANGE,
        "leaves the lattice");
    BAD("contrast: NaN", (void)0, isoc_pet_contrast_recovery(pet, &i, lost, 1, 4.0, &number), NOT_FINITE_PARAMETER,
        "centres[0]");
    BAD("contrast: none", (void)0, isoc_pet_contrast_recovery(pet, &i, middle, 1, 1.0, &number), OUT_OF_RANGE,
        "ratio is 1");
    BAD("contrast: no spheres", (void)0, isoc_pet_contrast_recovery(pet, &i, middle, 0, 4.0, &number), OUT_OF_RANGE,
        "centre_count is 0");
    BAD("contrast: no centres", (void)0, isoc_pet_contrast_recovery(pet, &i, NULL, 1, 4.0, &number), NULL_POINTER,
        "centres is NULL");
    BAD("contrast: nowhere", (void)0, isoc_pet_contrast_recovery(pet, &i, middle, 1, 4.0, NULL), NULL_POINTER,
        "recovery is NULL");
    BAD("noise", (void)0, isoc_pet_noise(pet, &i, &number), OK, NULL);
    BAD("noise: an empty image", memset(image, 0, sizeof image), isoc_pet_noise(pet, &i, &number), OUT_OF_RANGE, "is 0");
    BAD("noise: NaN", image[0] = NAN, isoc_pet_noise(pet, &i, &number), NOT_FINITE_DATA, "image[0, 0, 0] is NaN");
    BAD("noise: nowhere", (void)0, isoc_pet_noise(pet, &i, NULL), NULL_POINTER, "noise is NULL");
}

static int32_t stop(void *user, double fraction, const char *stage) {
    (void)user, (void)fraction, (void)stage;
    return 1;
}

enum { CRYSTALS = 12 };
static double places[CRYSTALS][3], normals[CRYSTALS][3], edges[4];
// One after the other, so that what overlaps with a later one does not with those before; and room for crystals' sums over the last.
static uint32_t list[4 * EVENTS + CRYSTALS];
static uint32_t (*const named)[2] = (uint32_t (*)[2])list, *const bins = list + 2 * EVENTS, *const labels = list + 3 * EVENTS;
static isoc_pet_scanner detectors;
static isoc_pet_blocks rings;
static isoc_tensor places_tensor, normals_tensor, named_tensor, bins_tensor, labels_tensor;
static int64_t found;
static const int64_t crystal_shape[] = { CRYSTALS, 3 }, pair_shape[] = { EVENTS, 2 };

/* A scanner, and events that name its crystals, that work. */
static void usual_scanner(void) {
    for (int k = 0; k < CRYSTALS; k++) {
        places[k][0] = 400.0 * cos(2 * PI * k / CRYSTALS), places[k][1] = 400.0 * sin(2 * PI * k / CRYSTALS), places[k][2] = 0.0;
        for (int d = 0; d < 3; d++)
            normals[k][d] = -places[k][d];
    }
    for (int k = 0; k < 4; k++)
        edges[k] = 100.0 * (k - 1.5);
    for (uint32_t k = 0; k < EVENTS; k++)
        named[k][0] = k % 6, named[k][1] = k % 6 + 6, bins[k] = k % 3, labels[k] = 0;
    memset(&detectors, 0, sizeof detectors);
    detectors.struct_size = sizeof detectors, detectors.crystal_width = 4.0, detectors.crystal_height = 4.0;
    detectors.time_bins = 3, detectors.time_edges = edges;
    memset(&rings, 0, sizeof rings);
    rings.struct_size = sizeof rings, rings.blocks = 4, rings.across = 3, rings.along = 1, rings.diameter = 800.0, rings.pitch_across = 4.0;
    places_tensor = tensor(places, 2, crystal_shape, ISOC_DTYPE_FLOAT, 64);
    normals_tensor = tensor(normals, 2, crystal_shape, ISOC_DTYPE_FLOAT, 64);
    named_tensor = tensor(named, 2, pair_shape, ISOC_DTYPE_UINT, 32);
    bins_tensor = tensor(bins, 1, pair_shape, ISOC_DTYPE_UINT, 32);
    labels_tensor = tensor(labels, 1, pair_shape, ISOC_DTYPE_UINT, 32);
}

static void has_scanner(void) {
    usual_scanner();
    check_ok("set_scanner", isoc_pet_set_scanner(pet, &detectors, &places_tensor, &normals_tensor));
}

static const int64_t crystal_list[] = { CRYSTALS }, map_shape[] = { 3, 5, 4 };
enum { MAP = 3 * 5 * 4 };
/* With room for factors, so that those written over one of them touch that one alone, wherever the compiler lays them. */
static float efficiencies[HISTOS], map[HISTOS];
static double hounsfield[MAP];
static isoc_tensor efficiencies_tensor, map_tensor, hounsfield_tensor;
static isoc_pet_factor_options wanted;
static isoc_pet_lost lost;

/* What a scanner's factors, and events that it detects, are made of. */
static void has_corrections(void) {
    /* Views that need few lines. */
    isoc_pet_geometry level = geometry();
    level.max_tilt = 0.04;
    check_ok("set_geometry", isoc_pet_set_geometry(pet, &level, NULL));
    has_scanner();
    for (int k = 0; k < CRYSTALS; k++)
        efficiencies[k] = 0.5f + 0.04f * (float)k;
    for (int k = 0; k < MAP; k++)
        map[k] = 0.0096f, hounsfield[k] = 10.0 * k;
    efficiencies_tensor = tensor(efficiencies, 1, crystal_list, ISOC_DTYPE_FLOAT, 32);
    map_tensor = tensor(map, 3, map_shape, ISOC_DTYPE_FLOAT, 32);
    hounsfield_tensor = tensor(hounsfield, 3, map_shape, ISOC_DTYPE_FLOAT, 64);
    memset(&wanted, 0, sizeof wanted);
    wanted.struct_size = sizeof wanted, wanted.duration = 60.0, wanted.half_life = 6586.0, wanted.directions = 4;
    memset(&lost, 0, sizeof lost);
    lost.struct_size = sizeof lost;
}

static uint32_t sums[2 * CRYSTALS];
/* With room for histo-images, as efficiencies. */
static float rates[HISTOS];
static double field_of_view, duration, window;
static uint32_t directions;
static isoc_tensor sums_tensor, rates_tensor;
static isoc_pet_scatter_options around;
static isoc_pet_scatter_found estimate;
static uint64_t host_bytes, gpu_bytes;

/* What randoms and scatter are made of, with lines so level that a view has few. */
static void has_background(void) {
    has_corrections();
    for (int k = 0; k < 2 * CRYSTALS; k++)
        sums[k] = 100;
    for (int k = 0; k < HISTOS; k++)
        rates[k] = 1000.0f;
    sums_tensor = tensor(sums, 1, crystal_list, ISOC_DTYPE_UINT, 32);
    rates_tensor = tensor(rates, 1, crystal_list, ISOC_DTYPE_FLOAT, 32);
    field_of_view = 0.0, duration = 60.0, window = 0.0, directions = 4;
    memset(&around, 0, sizeof around), memset(&estimate, 0, sizeof estimate);
    around.struct_size = sizeof around, around.factors = &wanted, estimate.struct_size = sizeof estimate;
}

/* Images one after the other, so that those that overlap, and those that only touch, do so wherever the compiler lays arrays. */
static float images[3 * VOXELS];
static float *const weights = images, *const anatomy = images + VOXELS, *const gradient = images + 2 * VOXELS;
static uint32_t regions[VOXELS];
static isoc_tensor weights_tensor, anatomy_tensor, gradient_tensor, regions_tensor;
static isoc_pet_prior prior;

/* A prior of differences within what the anatomy says is alike, and regions; not set yet. */
static void usual_expectations(void) {
    for (int k = 0; k < VOXELS; k++)
        weights[k] = 0.5f + 0.1f * (float)(k % 6), anatomy[k] = (float)(k % SIDE_X / 5), gradient[k] = -7.0f, regions[k] = (uint32_t)k % 4;
    weights_tensor = image_tensor(weights), anatomy_tensor = image_tensor(anatomy), gradient_tensor = image_tensor(gradient);
    regions_tensor = tensor(regions, 3, image_shape, ISOC_DTYPE_UINT, 32);
    prior = usual_prior();
    prior.anatomy_sigma = 0.5;
}

static void has_prior(void) {
    usual_expectations();
    check_ok("set_prior", isoc_pet_set_prior(pet, &prior, &weights_tensor, &anatomy_tensor));
}

static void contexts(void) {
    isoc_context_options c;
    memset(&c, 0, sizeof c);
    c.struct_size = sizeof c, c.threads = 2, c.memory_cap = 1000, c.gpu_memory_cap = 1000;
    isoc_context *small = NULL, *cancelled = NULL;
    check_ok("context", isoc_context_create(&c, &small));
    isoc_tensor h = histo_tensor(histos), v = image_tensor(out), i = image_tensor(image), n = count_tensor();
    isoc_tensor p = position_tensor(first[0]), q = position_tensor(second[0]), t = time_tensor();
    isoc_pet_scan s = usual_scan();
    isoc_pet_tally tally;
    memset(&tally, 0, sizeof tally), tally.struct_size = sizeof tally;
    static const char *const cap[] = { "memory", "cap", NULL };
    set_up(small);
    check_status("memory cap: reconstruct", isoc_pet_reconstruct(pet, &h, NULL, NULL, &v), ISOC_STATUS_MEMORY_CAP, NULL);
    check_status("memory cap: deposit", isoc_pet_deposit(pet, &p, &q, &t, &n, NULL), ISOC_STATUS_MEMORY_CAP, cap);
    has_prior();
    check_status("memory cap: prior gradient", isoc_pet_prior_gradient(pet, &i, &gradient_tensor, NULL), ISOC_STATUS_MEMORY_CAP, NULL);
    expect("a memory cap leaves the gradient", gradient[0] == -7.0f && gradient[VOXELS - 1] == -7.0f);
    check_status("memory cap: simulate", isoc_pet_simulate(pet, &s, &i, &p, &q, &t, &tally), ISOC_STATUS_MEMORY_CAP, cap);
    has_scanner();
    check_status("memory cap: factors", isoc_pet_factors(pet, NULL, NULL, NULL, &h), ISOC_STATUS_MEMORY_CAP, NULL);
    has_background();
    check_status("memory cap: efficiencies", isoc_pet_efficiencies(pet, 0.0, 0.0, &wanted, &sums_tensor, &i, NULL, NULL, &rates_tensor),
                 ISOC_STATUS_MEMORY_CAP, cap);
    check_status("memory cap: randoms", isoc_pet_randoms(pet, 60.0, 0.0, 4, &rates_tensor, &h), ISOC_STATUS_MEMORY_CAP, cap);
    check_status("memory cap: scatter", isoc_pet_scatter(pet, &around, &i, NULL, &map_tensor, NULL, NULL, &h, NULL), ISOC_STATUS_MEMORY_CAP, cap);
    check_status("memory cap: expect", isoc_pet_expect(pet, &s, NULL, &tally, &h, NULL), ISOC_STATUS_MEMORY_CAP, cap);
    c.memory_cap = c.gpu_memory_cap = 0, c.progress = stop;
    check_ok("context", isoc_context_create(&c, &cancelled));
    set_up(cancelled);
    const isoc_status gone = ISOC_STATUS_CANCELLED;
    check_status("cancel: reconstruct", isoc_pet_reconstruct(pet, &h, NULL, NULL, &v), gone, NULL);
    check_status("cancel: deposit", isoc_pet_deposit(pet, &p, &q, &t, &n, NULL), gone, NULL);
    check_status("cancel: simulate", isoc_pet_simulate(pet, &s, NULL, &p, &q, &t, &tally), gone, NULL);
    has_corrections();
    check_status("cancel: factors", isoc_pet_factors(pet, &wanted, NULL, NULL, &h), gone, NULL);
    check_status("cancel: detect", isoc_pet_detect(pet, &p, &q, &t, NULL, 0, &named_tensor, &bins_tensor, NULL), gone, NULL);
    has_background();
    check_status("cancel: fan sums", isoc_pet_fan_sums(pet, 0.0, &named_tensor, NULL, &sums_tensor, NULL), gone, NULL);
    check_status("cancel: singles", isoc_pet_singles(pet, 0.0, 60.0, 0.0, &sums_tensor, &rates_tensor), gone, NULL);
    check_status("cancel: efficiencies", isoc_pet_efficiencies(pet, 0.0, 0.0, &wanted, &sums_tensor, &i, NULL, NULL, &rates_tensor), gone, NULL);
    check_status("cancel: randoms", isoc_pet_randoms(pet, 60.0, 0.0, 4, &rates_tensor, &h), gone, NULL);
    check_status("cancel: scatter", isoc_pet_scatter(pet, &around, &i, NULL, &map_tensor, NULL, NULL, &h, NULL), gone, NULL);
    expect("a cancel leaves sums and rates", sums[0] == 100 && rates[0] == 1000.0f);
    check_status("cancel: expect", isoc_pet_expect(pet, &s, NULL, &tally, &h, NULL), gone, NULL);
    for (uint32_t algorithm = ISOC_PET_ALGORITHM_BSREM; algorithm <= ISOC_PET_ALGORITHM_SVRG; algorithm++) {
        isoc_pet_options o = options();
        o.algorithm = algorithm;
        has_prior();
        check_ok("options", isoc_pet_set_options(pet, &o));
        check_status("cancel: reconstruct with a prior", isoc_pet_reconstruct(pet, &h, NULL, NULL, &v), gone, NULL);
    }
    expect("a cancel leaves the image", out[0] == -7.0f && out[VOXELS - 1] == -7.0f);
    set_up(lenient);
    histos[0] = NAN, histos[9] = INFINITY;
    check_ok("NaN replaced", isoc_pet_reconstruct(pet, &h, NULL, NULL, &v));
    isoc_pet_info info;
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    check_ok("info", isoc_pet_get_info(pet, &info));
    expect("NaN counted", info.replaced_values == 2);
    usual_expectations();
    weights[3] = NAN, anatomy[5] = INFINITY, image[7] = NAN;
    check_ok("NaN of weights and anatomy replaced", isoc_pet_set_prior(pet, &prior, &weights_tensor, &anatomy_tensor));
    double number = 0.0;
    check_ok("NaN of an image replaced", isoc_pet_prior_gradient(pet, &i, &gradient_tensor, &number));
    check_ok("info", isoc_pet_get_info(pet, &info));
    expect("NaN of an image counted", info.replaced_values == 1 && number > 0.0 && sound(gradient, VOXELS));
    check_ok("destroy", isoc_pet_destroy(pet));
    pet = NULL;
    check_ok("destroy", isoc_context_destroy(small));
    check_ok("destroy", isoc_context_destroy(cancelled));
}

#define BLOCKS(field, value, status, ...)                                                                                    \
    BAD("blocks." #field, (usual_scanner(), rings.field = value), isoc_pet_block_crystals(&rings, places[0], NULL, CRYSTALS, NULL), \
        status, __VA_ARGS__)
#define SCANNER(name, change, status, ...)                                                                                   \
    BAD("scanner: " name, (usual_scanner(), change), isoc_pet_set_scanner(pet, &detectors, &places_tensor, &normals_tensor), \
        status, __VA_ARGS__)
#define NAMED(name, change, status, ...)                                                                                     \
    BAD("crystals: " name, (has_scanner(), change),                                                                          \
        isoc_pet_deposit_crystals(pet, &named_tensor, &bins_tensor, &labels_tensor, 0, &c, &dropped), status, __VA_ARGS__)

#define FACTORS(name, change, status, ...)                                                                                    \
    BAD("factors: " name, (has_corrections(), change), isoc_pet_factors(pet, &wanted, &efficiencies_tensor, &map_tensor, &a), \
        status, __VA_ARGS__)
#define ATTENUATION(name, change, status, ...)                                                                                \
    BAD("attenuation: " name, (has_corrections(), change), isoc_pet_attenuation(pet, number, &hounsfield_tensor, &map_tensor), \
        status, __VA_ARGS__)
#define DETECT(name, change, status, ...)                                                                                     \
    BAD("detect: " name, (has_corrections(), change),                                                                         \
        isoc_pet_detect(pet, &p, &q, &t, &efficiencies_tensor, 1, &named_tensor, &bins_tensor, &lost), status, __VA_ARGS__)

#define FAN_SUMS(name, change, status, ...)                                                                                   \
    BAD("fan sums: " name, (has_background(), change),                                                                        \
        isoc_pet_fan_sums(pet, field_of_view, &named_tensor, &labels_tensor, &sums_tensor, &dropped), status, __VA_ARGS__)
#define SINGLES(name, change, status, ...)                                                                                    \
    BAD("singles: " name, (has_background(), change),                                                                         \
        isoc_pet_singles(pet, field_of_view, duration, window, &sums_tensor, &rates_tensor), status, __VA_ARGS__)
#define EFFICIENCIES(name, change, status, ...)                                                                               \
    BAD("efficiencies: " name, (has_background(), change),                                                                    \
        isoc_pet_efficiencies(pet, field_of_view, window, &wanted, &sums_tensor, &i, &map_tensor, &rates_tensor, &efficiencies_tensor), \
        status, __VA_ARGS__)
#define RANDOMS(name, change, status, ...)                                                                                    \
    BAD("randoms: " name, (has_background(), change), isoc_pet_randoms(pet, duration, window, directions, &rates_tensor, &a), \
        status, __VA_ARGS__)
#define SCATTER(name, change, status, ...)                                                                                    \
    BAD("scatter: " name, (has_background(), change),                                                                         \
        isoc_pet_scatter(pet, &around, &i, &efficiencies_tensor, &map_tensor, &c, &b, &a, &estimate), status, __VA_ARGS__)
#define FACTORS_MEMORY(name, change, status, ...)                                                                             \
    BAD("memory of factors: " name, (has_background(), change),                                                               \
        isoc_pet_factors_memory(pet, &wanted, &map_tensor, &host_bytes, &gpu_bytes), status, __VA_ARGS__)
#define RANDOMS_MEMORY(name, change, status, ...)                                                                             \
    BAD("memory of randoms: " name, (has_background(), change),                                                               \
        isoc_pet_randoms_memory(pet, directions, &host_bytes, &gpu_bytes), status, __VA_ARGS__)
#define SCATTER_MEMORY(name, change, status, ...)                                                                             \
    BAD("memory of scatter: " name, (has_background(), change),                                                               \
        isoc_pet_scatter_memory(pet, &around, &map_tensor, &host_bytes, &gpu_bytes), status, __VA_ARGS__)

#define PRIOR(name, change, status, ...)                                                                                      \
    BAD("prior: " name, (usual_expectations(), change), isoc_pet_set_prior(pet, &prior, &weights_tensor, &anatomy_tensor), status, __VA_ARGS__)
/* With neither weights nor anatomy. */
#define PLAIN_PRIOR(name, change, status, ...)                                                                                \
    BAD("prior: " name, (usual_expectations(), prior.anatomy_sigma = 0.0, change), isoc_pet_set_prior(pet, &prior, NULL, NULL), status, __VA_ARGS__)
#define PRIOR_GRADIENT(name, change, status, ...)                                                                             \
    BAD("prior gradient: " name, (has_prior(), change), isoc_pet_prior_gradient(pet, &i, &gradient_tensor, &number), status, __VA_ARGS__)
#define REGIONS(name, change, status, ...)                                                                                    \
    BAD("regions: " name, (usual_expectations(), change), isoc_pet_set_regions(pet, &regions_tensor), status, __VA_ARGS__)
/* As options say. */
#define WITH_PRIOR(name, change, status, ...)                                                                                 \
    BAD("with a prior: " name, (has_prior(), change, check_ok("options", isoc_pet_set_options(pet, &o))),                     \
        left_alone(isoc_pet_reconstruct(pet, &h, &a, &b, &v)), status, __VA_ARGS__)

static void blocks(void) {
    BLOCKS(struct_size, 3, STRUCT_SIZE, "struct_size is 3");
    BLOCKS(reserved, 1, UNKNOWN_VALUE, "blocks.reserved is 1", "must be 0");
    BLOCKS(blocks, 0, OUT_OF_RANGE, "blocks.blocks is 0");
    BLOCKS(across, -1, OUT_OF_RANGE, "blocks.across is -1");
    BLOCKS(along, INT64_MAX, OUT_OF_RANGE, "blocks.along is 9223372036854775807");
    BLOCKS(block_rings, -2, OUT_OF_RANGE, "blocks.block_rings is -2");
    BLOCKS(block_rings, 1 << 23, OUT_OF_RANGE, "are more than 16777216 crystals");
    BLOCKS(diameter, 0.0, OUT_OF_RANGE, "blocks.diameter is 0 mm", "above 0");
    BLOCKS(diameter, NAN, NOT_FINITE_PARAMETER, "blocks.diameter is NaN");
    BLOCKS(pitch_across, -4.0, OUT_OF_RANGE, "blocks.pitch_across is -4 mm");
    BLOCKS(pitch_across, 400.0, OUT_OF_RANGE, "blocks.pitch_across is 400 mm", "3 crystals are 1200 mm wide", "have room for");
    BLOCKS(pitch_along, INFINITY, NOT_FINITE_PARAMETER, "blocks.pitch_along is inf");
    BLOCKS(block_pitch, 3.0, OUT_OF_RANGE, "blocks.block_pitch is 3 mm", "a block is 4 mm long");
    BLOCKS(first_azimuth, NAN, NOT_FINITE_PARAMETER, "blocks.first_azimuth is NaN", "in rad");
    BAD("blocks: NULL", usual_scanner(), isoc_pet_block_crystals(NULL, places[0], normals[0], CRYSTALS, &found), NULL_POINTER, "NULL");
    BAD("blocks: too few", usual_scanner(), isoc_pet_block_crystals(&rings, places[0], normals[0], CRYSTALS - 1, &found), OUT_OF_RANGE,
        "capacity is 11", "at least 12");
    BAD("blocks: below 0", usual_scanner(), isoc_pet_block_crystals(&rings, places[0], NULL, -1, NULL), OUT_OF_RANGE, "capacity is -1");
    BAD("blocks: nowhere", usual_scanner(), isoc_pet_block_crystals(&rings, NULL, NULL, CRYSTALS, NULL), NULL_POINTER, "positions is NULL");
    usual_scanner();
    check_ok("how many crystals", isoc_pet_block_crystals(&rings, NULL, NULL, 0, &found));
    expect("as many as there are", found == CRYSTALS);
    places[0][0] = -7.0;
    check_ok("normals alone", isoc_pet_block_crystals(&rings, NULL, normals[0], CRYSTALS, NULL));
    expect("block 0 looks back along x", fabs(normals[1][0] + 1.0) < 1e-12 && places[0][0] == -7.0);
}

static void scanners(void) {
    static const int64_t one[] = { 1, 3 }, flat[] = { CRYSTALS, 2 }, fewer[] = { CRYSTALS - 1, 3 };
    SCANNER("struct_size", detectors.struct_size = 3, STRUCT_SIZE, "struct_size is 3");
    SCANNER("a width below 0", detectors.crystal_width = -1.0, OUT_OF_RANGE, "scanner.crystal_width is -1 mm", "at least 0");
    SCANNER("a height of NaN", detectors.crystal_height = NAN, NOT_FINITE_PARAMETER, "scanner.crystal_height is NaN", "in mm");
    SCANNER("edges without bins", detectors.time_bins = 0, OUT_OF_RANGE, "scanner.time_bins is 0 beside scanner.time_edges");
    SCANNER("bins without edges", detectors.time_edges = NULL, NULL_POINTER, "scanner.time_edges is NULL");
    SCANNER("more bins than there can be", detectors.time_bins = UINT32_MAX, OUT_OF_RANGE, "scanner.time_bins is 4294967295");
    SCANNER("an edge of NaN", edges[1] = NAN, NOT_FINITE_PARAMETER, "scanner.time_edges[1] is NaN", "in ps");
    SCANNER("edges that do not ascend", edges[2] = edges[1], OUT_OF_RANGE, "scanner.time_edges[2] is -50", "must ascend");
    SCANNER("one crystal", places_tensor.shape = one, OUT_OF_RANGE, "positions.shape[0] is 1");
    SCANNER("places in a plane", places_tensor.shape = flat, TENSOR_SHAPE, "positions.shape[1] is 2", "must be 3");
    SCANNER("whole places", places_tensor.dtype.code = ISOC_DTYPE_UINT, TENSOR_DTYPE, "positions.dtype");
    SCANNER("no places", places_tensor.data = NULL, NULL_POINTER, "positions.data is NULL");
    SCANNER("fewer normals", normals_tensor.shape = fewer, TENSOR_SHAPE, "normals.shape[0] is 11", "must be 12");
    SCANNER("a place of NaN", places[3][1] = NAN, NOT_FINITE_DATA, "positions[3, 1] is NaN");
    SCANNER("an infinite normal", normals[2][0] = INFINITY, NOT_FINITE_DATA, "normals[2, 0] is inf");
    SCANNER("no normal", memset(normals[5], 0, sizeof normals[5]), OUT_OF_RANGE, "crystal 5 has no normal");
    BAD("scanner: NULL", usual_scanner(), isoc_pet_set_scanner(pet, NULL, &places_tensor, NULL), NULL_POINTER, "NULL");
    BAD("scanner: no positions", usual_scanner(), isoc_pet_set_scanner(pet, &detectors, NULL, NULL), NULL_POINTER, "positions is NULL");
    BAD("scanner: on the axis", (usual_scanner(), places[4][0] = places[4][1] = 0.0),
        isoc_pet_set_scanner(pet, &detectors, &places_tensor, NULL), OUT_OF_RANGE, "crystal 4 has no normal", "on the z axis");
    SCANNER("points need no normals", (memset(normals, 0, sizeof normals), detectors.crystal_width = detectors.crystal_height = 0.0), OK, NULL);
    SCANNER("neither bins nor edges", (detectors.time_bins = 0, detectors.time_edges = NULL), OK, NULL);
}

static uint32_t module_of[CRYSTALS], groups[9];
static float of_pairs[2 * 36];
static isoc_tensor modules_tensor, groups_tensor, pairs_tensor;
static const int64_t table_shape[] = { 3, 3 }, values_shape[] = { 2, 6, 6 };

/* Modules of four crystals, of which 0 and 2 are not measured with each other. */
static void has_pairs(void) {
    static const int64_t all[] = { CRYSTALS };
    has_scanner();
    for (uint32_t k = 0; k < CRYSTALS; k++)
        module_of[k] = k / 4;
    for (uint32_t k = 0; k < 9; k++)
        groups[k] = k == 2 || k == 6 ? 0 : 1 + k % 2;
    for (int k = 0; k < 2 * 36; k++)
        of_pairs[k] = 0.5f;
    modules_tensor = tensor(module_of, 1, all, ISOC_DTYPE_UINT, 32);
    groups_tensor = tensor(groups, 2, table_shape, ISOC_DTYPE_UINT, 32);
    pairs_tensor = tensor(of_pairs, 3, values_shape, ISOC_DTYPE_FLOAT, 32);
}

#define PAIRS(name, change, status, ...)                                                                                                \
    BAD("pairs: " name, (has_pairs(), change), isoc_pet_set_pairs(pet, &modules_tensor, &groups_tensor, &pairs_tensor), status, __VA_ARGS__)

static void pairs(void) {
    static const int64_t fewer[] = { CRYSTALS - 1 }, flat[] = { 3, 2 }, none[] = { 0, 0 }, one[] = { 1, 6, 6 }, plain[] = { 2 }, narrow[] = { 2, 6, 5 };
    static const int64_t small[] = { 2, 3, 3 }, square[] = { 6, 6 };
    PAIRS("as they are", (void)0, OK, NULL);
    BAD("pairs: of nothing but groups", has_pairs(), isoc_pet_set_pairs(pet, &modules_tensor, &groups_tensor, NULL), OK, NULL);
    BAD("pairs: taken away", has_pairs(), isoc_pet_set_pairs(pet, NULL, NULL, NULL), OK, NULL);
    BAD("pairs: no scanner", usual_scanner(), isoc_pet_set_pairs(pet, NULL, NULL, NULL), NOT_CONFIGURED, "isoc_pet_set_scanner comes first");
    BAD("pairs: no modules", has_pairs(), isoc_pet_set_pairs(pet, NULL, &groups_tensor, NULL), NULL_POINTER, "modules is NULL");
    BAD("pairs: no groups", has_pairs(), isoc_pet_set_pairs(pet, &modules_tensor, NULL, &pairs_tensor), NULL_POINTER, "groups is NULL");
    PAIRS("one a group", (pairs_tensor.ndim = 1, pairs_tensor.shape = plain), OK, NULL);
    PAIRS("fewer modules", modules_tensor.shape = fewer, TENSOR_SHAPE, "modules.shape[0] is 11", "must be 12");
    PAIRS("real modules", modules_tensor.dtype.code = ISOC_DTYPE_FLOAT, TENSOR_DTYPE, "modules.dtype");
    PAIRS("signed groups", groups_tensor.dtype.code = 0, TENSOR_DTYPE, "groups.dtype");
    PAIRS("whole efficiencies", pairs_tensor.dtype.code = ISOC_DTYPE_UINT, TENSOR_DTYPE, "efficiencies.dtype");
    PAIRS("a flat table", groups_tensor.shape = flat, TENSOR_SHAPE, "groups.shape[1] is 2", "must be 3");
    PAIRS("no modules", groups_tensor.shape = none, OUT_OF_RANGE, "groups.shape[0] is 0");
    PAIRS("efficiencies that are not square", pairs_tensor.shape = narrow, TENSOR_SHAPE, "efficiencies.shape[2] is 5", "must be 6");
    PAIRS("efficiencies in a plane", (pairs_tensor.ndim = 2, pairs_tensor.shape = square), TENSOR_NDIM, "efficiencies.ndim is 2", "1 (groups) or 3");
    PAIRS("a module that is none", module_of[3] = 3, OUT_OF_RANGE, "modules[3] is 3", "of 3 modules");
    PAIRS("a group that is none", groups[0] = 3, OUT_OF_RANGE, "groups[0, 0] is 3", "of 2 groups");
    PAIRS("fewer groups", pairs_tensor.shape = one, OUT_OF_RANGE, "groups[0, 1] is 2", "of 1 groups");
    PAIRS("two groups of a pair", groups[1] = 1, OUT_OF_RANGE, "groups[0, 1] is 1", "groups[1, 0] is 2");
    PAIRS("nothing measured", memset(groups, 0, sizeof groups), OUT_OF_RANGE, "groups are 0 everywhere");
    PAIRS("few elements", pairs_tensor.shape = small, OUT_OF_RANGE, "module 0 has more than 3 crystals");
    PAIRS("below 0", of_pairs[40] = -1.0f, OUT_OF_RANGE, "efficiencies[1, 0, 4] is -1");
    PAIRS("NaN", of_pairs[1] = NAN, OUT_OF_RANGE, "efficiencies[0, 0, 1] is NaN");
    PAIRS("no data", groups_tensor.data = NULL, NULL_POINTER, "groups.data is NULL");
    /* Of the eight events those of crystals 2 and 8, and of 3 and 9. */
    set_up(ctx);
    has_pairs();
    memset(counts, 0, sizeof counts);
    isoc_tensor c = count_tensor();
    isoc_pet_dropped dropped;
    memset(&dropped, 0, sizeof dropped);
    dropped.struct_size = sizeof dropped;
    check_ok("pairs", isoc_pet_set_pairs(pet, &modules_tensor, &groups_tensor, &pairs_tensor));
    check_ok("events of pairs", isoc_pet_deposit_crystals(pet, &named_tensor, &bins_tensor, &labels_tensor, 0, &c, &dropped));
    expect("pairs that are not measured are dropped", dropped.not_measured == 2 && dropped.unknown == 0);
    check_ok("a scanner without pairs", isoc_pet_set_scanner(pet, &detectors, &places_tensor, &normals_tensor));
    check_ok("events of all pairs", isoc_pet_deposit_crystals(pet, &named_tensor, &bins_tensor, &labels_tensor, 0, &c, &dropped));
    expect("a new scanner has no pairs", dropped.not_measured == 0);
}

static void named_events(void) {
    static const int64_t three[] = { EVENTS, 3 }, fewer[] = { EVENTS - 1, 2 }, none[] = { 0, 2 }, minus[] = { -1 };
    static const int64_t sets[] = { 1 << 17, ALL, SIDE_Z, SIDE_Y, SIDE_X }, no_sets[] = { 0, ALL, SIDE_Z, SIDE_Y, SIDE_X };
    BAD("crystals: no scanner", usual_scanner(),
        isoc_pet_deposit_crystals(pet, &named_tensor, &bins_tensor, NULL, 0, &c, &dropped), NOT_CONFIGURED, "isoc_pet_set_scanner comes first");
    NAMED("three an event", named_tensor.shape = three, TENSOR_SHAPE, "crystals.shape[1] is 3", "must be 2");
    NAMED("fewer", named_tensor.shape = fewer, TENSOR_SHAPE, "crystals.shape[0] is 7", "must be 8");
    NAMED("signed", named_tensor.dtype.code = 0, TENSOR_DTYPE, "crystals.dtype");
    NAMED("real", named_tensor.dtype.code = ISOC_DTYPE_FLOAT, TENSOR_DTYPE, "crystals.dtype");
    NAMED("signed times", bins_tensor.dtype.code = 0, TENSOR_DTYPE, "times.dtype");
    NAMED("times in a plane", bins_tensor.ndim = 2, TENSOR_NDIM, "times.ndim is 2");
    NAMED("less than no events", bins_tensor.shape = minus, OUT_OF_RANGE, "times.shape[0] is -1");
    NAMED("fewer labels", labels_tensor.shape = fewer, TENSOR_SHAPE, "labels.shape[0] is 7", "must be 8");
    NAMED("real labels", labels_tensor.dtype.code = ISOC_DTYPE_FLOAT, TENSOR_DTYPE, "labels.dtype");
    NAMED("bins that the scanner has not",
          (detectors.time_bins = 0, detectors.time_edges = NULL,
           check_ok("a scanner without bins", isoc_pet_set_scanner(pet, &detectors, &places_tensor, NULL))),
          NOT_CONFIGURED, "times are U32", "the scanner has no time bins");
    NAMED("no data", named_tensor.data = NULL, NULL_POINTER, "crystals.data is NULL");
    NAMED("too many sets", (c.ndim = 5, c.shape = sets), OUT_OF_RANGE, "histo_images.shape[0] is 131072");
    NAMED("no sets", (c.ndim = 5, c.shape = no_sets), OUT_OF_RANGE, "histo_images.shape[0] is 0");
    NAMED("histo-images of doubles", (c.dtype.code = ISOC_DTYPE_FLOAT, c.dtype.bits = 64), TENSOR_DTYPE, "histo_images.dtype");
    NAMED("overlap", c.data = named, OVERLAP, "crystals", "histo_images", "share memory");
    NAMED("overlap of times", c.data = bins, OVERLAP, "times", "histo_images", "share memory");
    NAMED("overlap of labels", c.data = labels, OVERLAP, "labels", "histo_images", "share memory");
    NAMED("a short struct", dropped.struct_size = 8, STRUCT_SIZE, "struct_size is 8");
    NAMED("crystals without times", bins_tensor.shape = none, TENSOR_SHAPE, "crystals.shape[0] is not 0");
    NAMED("labels without times", bins_tensor.shape = named_tensor.shape = none, TENSOR_SHAPE, "labels.shape[0] is not 0");
    BAD("crystals: NULL", has_scanner(), isoc_pet_deposit_crystals(pet, NULL, &bins_tensor, NULL, 0, &c, NULL), NULL_POINTER,
        "crystals is NULL");
    BAD("crystals: no times", has_scanner(), isoc_pet_deposit_crystals(pet, &named_tensor, NULL, NULL, 0, &c, NULL), NULL_POINTER,
        "times is NULL");
    BAD("crystals: no histo-images", has_scanner(), isoc_pet_deposit_crystals(pet, &named_tensor, &bins_tensor, NULL, 0, NULL, NULL),
        NULL_POINTER, "histo_images is NULL");
    BAD("crystals: uncounted", has_scanner(), isoc_pet_deposit_crystals(pet, &named_tensor, &bins_tensor, NULL, UINT64_MAX, &c, NULL), OK, NULL);

    /* A crystal, a bin and a label that there are not, and the same crystal twice. */
    set_up(ctx);
    has_scanner();
    memset(counts, 0, sizeof counts);
    isoc_tensor c = count_tensor();
    isoc_pet_dropped dropped;
    memset(&dropped, 0, sizeof dropped);
    dropped.struct_size = sizeof dropped;
    named[0][1] = CRYSTALS, bins[1] = 3, labels[2] = 1, named[3][1] = named[3][0];
    check_ok("deposit_crystals", isoc_pet_deposit_crystals(pet, &named_tensor, &bins_tensor, &labels_tensor, 0, &c, &dropped));
    expect("unknown", dropped.unknown == 3);
    expect("the same crystal twice", dropped.equal_positions == 1);
    uint64_t sum = 0;
    for (int k = 0; k < HISTOS; k++)
        sum += counts[k];
    expect("the others are counted", sum + dropped.events == EVENTS);
    bins_tensor.shape = none, bins_tensor.data = NULL;
    check_ok("no events", isoc_pet_deposit_crystals(pet, NULL, &bins_tensor, NULL, 0, &c, &dropped));
    expect("no events are dropped", dropped.events == 0 && dropped.unknown == 0);
}

static void all_factors(void) {
    static const int64_t fewer[] = { CRYSTALS - 1 }, none[] = { 3, 0, 4 }, long_map[] = { 1 << 17, 5, 4 }, three[] = { 3, SIDE_Z, SIDE_Y, SIDE_X };
    FACTORS("as it is", (void)0, OK, NULL);
    BAD("factors: of nothing but the scanner", has_corrections(), isoc_pet_factors(pet, NULL, NULL, NULL, &a), OK, NULL);
    BAD("factors: no scanner", (void)0, isoc_pet_factors(pet, NULL, NULL, NULL, &a), NOT_CONFIGURED, "isoc_pet_set_scanner comes first");
    BAD("factors: of points", (has_corrections(), detectors.crystal_width = detectors.crystal_height = 0.0,
                               check_ok("points", isoc_pet_set_scanner(pet, &detectors, &places_tensor, NULL))),
        isoc_pet_factors(pet, NULL, NULL, NULL, &a), NOT_CONFIGURED, "crystals are points", "scanner.crystal_width");
    BAD("factors: nowhere", has_corrections(), isoc_pet_factors(pet, NULL, NULL, NULL, NULL), NULL_POINTER, "factors is NULL");
    FACTORS("struct_size", wanted.struct_size = 3, STRUCT_SIZE, "isoc_pet_factor_options.struct_size is 3");
    FACTORS("directions", wanted.directions = 16385, OUT_OF_RANGE, "options.directions is 16385", "1 to 16384");
    FACTORS("duration", wanted.duration = -1.0, OUT_OF_RANGE, "options.duration is -1 s", "at least 0");
    FACTORS("duration of NaN", wanted.duration = NAN, NOT_FINITE_PARAMETER, "options.duration is NaN");
    FACTORS("decay without duration", wanted.duration = 0.0, OUT_OF_RANGE, "options.half_life is 6586 beside a duration of 0");
    FACTORS("branching in percent", wanted.branching = 96.7, OUT_OF_RANGE, "options.branching is 96.7", "at most 1");
    FACTORS("half-life", wanted.half_life = -5.0, OUT_OF_RANGE, "options.half_life is -5 s");
    FACTORS("delay", wanted.delay = INFINITY, NOT_FINITE_PARAMETER, "options.delay is inf");
    FACTORS("delay without decay", (wanted.half_life = 0.0, wanted.delay = 60.0), OUT_OF_RANGE, "options.delay is 60 s beside a half_life of 0");
    FACTORS("an earlier start", wanted.delay = -60.0, OK, NULL);
    FACTORS("live", wanted.live = -0.5, OUT_OF_RANGE, "options.live is -0.5", "above 0");
    FACTORS("voxels of the map", wanted.map_voxel_y = -1.0, OUT_OF_RANGE, "options.map_voxel_y is -1 mm");
    FACTORS("voxels of NaN", wanted.map_voxel_z = NAN, NOT_FINITE_PARAMETER, "options.map_voxel_z is NaN", "in mm");
    FACTORS("the map's centre", wanted.map_centre_x = INFINITY, NOT_FINITE_PARAMETER, "options.map_centre_x is inf");
    FACTORS("fewer efficiencies", efficiencies_tensor.shape = fewer, TENSOR_SHAPE, "efficiencies.shape[0] is 11", "must be 12 ((crystals)");
    FACTORS("whole efficiencies", efficiencies_tensor.dtype.code = ISOC_DTYPE_UINT, TENSOR_DTYPE, "efficiencies.dtype");
    FACTORS("an efficiency below 0", efficiencies[7] = -0.25f, OUT_OF_RANGE, "efficiencies[7] is -0.25", "at least 0");
    FACTORS("an efficiency of NaN", efficiencies[3] = NAN, NOT_FINITE_DATA, "efficiencies[3] is NaN");
    FACTORS("no efficiency", memset(efficiencies, 0, sizeof efficiencies), OUT_OF_RANGE, "efficiencies are 0 everywhere");
    FACTORS("an efficiency above 1", efficiencies[7] = 1.5f, OK, NULL);
    FACTORS("a flat map", map_tensor.ndim = 2, TENSOR_NDIM, "attenuation.ndim is 2", "must be 3 (nz, ny, nx)");
    FACTORS("a map of nothing", map_tensor.shape = none, OUT_OF_RANGE, "attenuation.shape[1] is 0");
    FACTORS("a map too long", map_tensor.shape = long_map, OUT_OF_RANGE, "attenuation.shape[0] is 131072");
    FACTORS("a map without shape", map_tensor.shape = NULL, TENSOR_NDIM, "with a shape");
    FACTORS("a map of counts", map_tensor.dtype.code = ISOC_DTYPE_UINT, TENSOR_DTYPE, "attenuation.dtype");
    FACTORS("a map below 0", map[25] = -0.5f, OUT_OF_RANGE, "attenuation[1, 1, 1] is -0.5 /mm");
    FACTORS("Hounsfield units", map[0] = -1000.0f, OUT_OF_RANGE, "attenuation[0, 0, 0] is -1000 /mm", "Hounsfield", "isoc_pet_attenuation");
    FACTORS("a map of NaN", map[25] = NAN, NOT_FINITE_DATA, "attenuation[1, 1, 1] is NaN");
    FACTORS("factors: views", a.shape = three, TENSOR_SHAPE, "factors.shape[0] is 3", "must be 4");
    FACTORS("factors: doubles", a.dtype.bits = 64, TENSOR_DTYPE, "factors.dtype");
    FACTORS("overlap of the map", a.data = map, OVERLAP, "attenuation", "factors", "share memory");
    FACTORS("overlap of efficiencies", a.data = efficiencies, OVERLAP, "efficiencies", "factors", "share memory");

    /* Of voxels of 512 mm^3, by crystals so wide that nearly all lines meet some. */
    static float plain[HISTOS];
    set_up(ctx);
    has_corrections();
    detectors.crystal_width = 210.0, detectors.crystal_height = 100.0;
    check_ok("a wide scanner", isoc_pet_set_scanner(pet, &detectors, &places_tensor, &normals_tensor));
    isoc_tensor a = histo_tensor(factors), b = histo_tensor(plain);
    wanted.half_life = 0.0;
    check_ok("factors of 60 s", isoc_pet_factors(pet, &wanted, &efficiencies_tensor, &map_tensor, &a));
    wanted.duration = 0.0;
    check_ok("factors of decays", isoc_pet_factors(pet, &wanted, &efficiencies_tensor, &map_tensor, &b));
    double most = 0.0, off = 0.0;
    int above = 1;
    for (int k = 0; k < HISTOS; k++) {
        most = fmax(most, factors[k]), off = fmax(off, fabs(factors[k] - 0.512 * 60.0 * plain[k]));
        above &= plain[k] >= 0.0f;
    }
    expect("some lines are measured", most > 0.0 && above);
    expect("decays of a Bq/ml in 60 s", off < 1e-5 * most);
}

static void attenuations(void) {
    static const int64_t longer[] = { 3, 5, 5 };
    ATTENUATION("as it is", number = 120.0, OK, NULL);
    ATTENUATION("in MV", number = 0.12, OUT_OF_RANGE, "kilovolts is 0.12", "80 to 140");
    ATTENUATION("of NaN", number = NAN, OUT_OF_RANGE, "kilovolts is NaN");
    ATTENUATION("another shape", (number = 120.0, map_tensor.shape = longer), TENSOR_SHAPE, "attenuation.shape[2] is 5", "must be 4");
    ATTENUATION("into doubles", (number = 120.0, map_tensor.dtype.bits = 64), TENSOR_DTYPE, "attenuation.dtype");
    ATTENUATION("of counts", (number = 120.0, hounsfield_tensor.dtype.code = ISOC_DTYPE_UINT), TENSOR_DTYPE, "hounsfield.dtype");
    ATTENUATION("a flat one", (number = 120.0, hounsfield_tensor.ndim = 2), TENSOR_NDIM, "hounsfield.ndim is 2");
    ATTENUATION("NaN", (number = 120.0, hounsfield[25] = NAN), NOT_FINITE_DATA, "hounsfield[1, 1, 1] is NaN");
    BAD("attenuation: of nothing", has_corrections(), isoc_pet_attenuation(pet, 120.0, NULL, &map_tensor), NULL_POINTER, "hounsfield is NULL");
    BAD("attenuation: nowhere", has_corrections(), isoc_pet_attenuation(pet, 120.0, &hounsfield_tensor, NULL), NULL_POINTER,
        "attenuation is NULL");
    has_corrections();
    map[0] = 0.0f, map[1] = -1000.0f;
    check_ok("in place", isoc_pet_attenuation(pet, 120.0, &map_tensor, &map_tensor));
    expect("water and air", fabs(map[0] - 0.0096) < 1e-8 && map[1] == 0.0f);

    SIMULATE("a map", (has_corrections(), s.attenuation = &map_tensor, s.map_voxel_x = 9.0), OK, NULL);
    SIMULATE("a map below 0", (has_corrections(), map[5] = -1.0f, s.attenuation = &map_tensor), OUT_OF_RANGE, "attenuation[0, 1, 1] is -1 /mm");
    SIMULATE("a map's voxels", (has_corrections(), s.attenuation = &map_tensor, s.map_voxel_z = -1.0), OUT_OF_RANGE, "scan.map_voxel_z is -1 mm");
    SIMULATE("a map's voxels without it", s.map_voxel_y = 2.0, OUT_OF_RANGE, "scan.map_voxel_y", "without scan.attenuation");
    EXPECT("a map", (has_corrections(), s.attenuation = &map_tensor), NOT_CONFIGURED, "isoc_pet_factors");
}

static void detected_events(void) {
    static const int64_t three[] = { EVENTS, 3 }, fewer[] = { EVENTS - 1, 2 }, none[] = { 0 };
    DETECT("as it is", (void)0, OK, NULL);
    BAD("detect: no scanner", (void)0, isoc_pet_detect(pet, &p, &q, &t, NULL, 0, &named_tensor, &bins_tensor, NULL), NOT_CONFIGURED,
        "isoc_pet_set_scanner comes first");
    DETECT("a short struct", lost.struct_size = 8, STRUCT_SIZE, "isoc_pet_lost.struct_size is 8");
    DETECT("no events", t.shape = none, OUT_OF_RANGE, "time_differences.shape[0] is 0");
    DETECT("positions of two numbers", p.shape = fewer, TENSOR_SHAPE, "first_positions.shape");
    DETECT("whole positions", q.dtype.code = ISOC_DTYPE_UINT, TENSOR_DTYPE, "second_positions.dtype");
    DETECT("three crystals an event", named_tensor.shape = three, TENSOR_SHAPE, "crystals.shape[1] is 3", "must be 2");
    DETECT("fewer crystals", named_tensor.shape = fewer, TENSOR_SHAPE, "crystals.shape[0] is 7", "must be 8");
    DETECT("small crystals", named_tensor.dtype.bits = 16, TENSOR_DTYPE, "crystals.dtype");
    DETECT("signed times", bins_tensor.dtype.code = 0, TENSOR_DTYPE, "times.dtype");
    DETECT("bins that the scanner has not",
           (detectors.time_bins = 0, detectors.time_edges = NULL,
            check_ok("a scanner without bins", isoc_pet_set_scanner(pet, &detectors, &places_tensor, NULL))),
           NOT_CONFIGURED, "times are U32", "the scanner has no time bins");
    DETECT("an efficiency above 1", efficiencies[2] = 1.5f, OUT_OF_RANGE, "efficiencies[2] is 1.5", "0 to 1, a probability");
    DETECT("an efficiency of NaN", efficiencies[2] = NAN, NOT_FINITE_DATA, "efficiencies[2] is NaN");
    DETECT("overlap of outputs", named_tensor.data = bins, OVERLAP, "crystals", "times", "share memory");
    DETECT("overlap of positions", named_tensor.data = first, OVERLAP, "first_positions", "crystals", "share memory");
    DETECT("overlap of times", bins_tensor.data = times, OVERLAP, "time_differences", "times", "share memory");
    BAD("detect: no crystals", has_corrections(), isoc_pet_detect(pet, &p, &q, &t, NULL, 0, NULL, &bins_tensor, NULL), NULL_POINTER,
        "crystals is NULL");
    BAD("detect: no times", has_corrections(), isoc_pet_detect(pet, &p, &q, &t, NULL, 0, &named_tensor, NULL, NULL), NULL_POINTER,
        "times is NULL");
    BAD("detect: uncounted", has_corrections(), isoc_pet_detect(pet, &p, &q, &t, NULL, 0, &named_tensor, &bins_tensor, NULL), OK, NULL);

    /* Along x from crystal 0 to 6; beyond their width; along the axis; in no bin; and in one whose second crystal never detects. */
    static uint8_t small_bins[EVENTS];
    set_up(ctx);
    has_corrections();
    isoc_tensor p = position_tensor(first[0]), q = position_tensor(second[0]), t = time_tensor();
    isoc_tensor small_tensor = tensor(small_bins, 1, pair_shape, ISOC_DTYPE_UINT, 8);
    for (int k = 0; k < EVENTS; k++)
        first[k][1] = second[k][1] = second[k][2] = 0.0f, times[k] = -100.0, efficiencies[k] = 1.0f;
    first[1][1] = second[1][1] = 30.0f;
    first[2][0] = second[2][0] = 0.0f, first[2][2] = 100.0f;
    times[3] = 151.0;
    check_ok("detect", isoc_pet_detect(pet, &p, &q, &t, NULL, 0, &named_tensor, &small_tensor, &lost));
    expect("missed", lost.missed == 2 && lost.outside_window == 1 && lost.undetected == 0 && lost.events == 3);
    expect("lost ones have none", named[1][0] == UINT32_MAX && named[2][1] == UINT32_MAX && named[3][0] == UINT32_MAX && small_bins[3] == 0);
    expect("the others have theirs", named[0][0] == 0 && named[0][1] == 6 && small_bins[7] == 0);
    efficiencies[6] = 0.0f;
    check_ok("a dead crystal", isoc_pet_detect(pet, &p, &q, &t, &efficiencies_tensor, 0, &named_tensor, &small_tensor, &lost));
    expect("undetected", lost.undetected == EVENTS - 2 && lost.missed == 2 && lost.outside_window == 0);
}

/* The scanner again, as its places are now. */
static int moved(void) {
    check_ok("set_scanner", isoc_pet_set_scanner(pet, &detectors, &places_tensor, NULL));
    return 0;
}

static int without_bins(void) {
    detectors.time_bins = 0, detectors.time_edges = NULL;
    return moved();
}

static int of_points(void) {
    detectors.crystal_width = detectors.crystal_height = 0.0;
    return moved();
}

static void delayed_events(void) {
    static const int64_t three[] = { EVENTS, 3 }, fewer[] = { EVENTS - 1 }, none[] = { 0, 2 }, minus[] = { -1, 2 }, huge[] = { INT64_MAX, 2 };
    static const int64_t few[] = { CRYSTALS - 1 }, sets[] = { 1 << 17, CRYSTALS }, no_sets[] = { 0, CRYSTALS }, two[] = { 2, CRYSTALS };
    static const int64_t narrow[] = { 2, CRYSTALS - 1 };
    FAN_SUMS("as they are", (void)0, OK, NULL);
    FAN_SUMS("of two labels", (sums_tensor.ndim = 2, sums_tensor.shape = two), OK, NULL);
    BAD("fan sums: no scanner", (void)0, isoc_pet_fan_sums(pet, 0.0, &named_tensor, NULL, &sums_tensor, NULL), NOT_CONFIGURED,
        "isoc_pet_set_scanner comes first");
    FAN_SUMS("a field of view below 0", field_of_view = -1.0, OUT_OF_RANGE, "field_of_view is -1 mm", "at least 0");
    FAN_SUMS("a field of view of NaN", field_of_view = NAN, NOT_FINITE_PARAMETER, "field_of_view is NaN", "in mm");
    FAN_SUMS("three an event", named_tensor.shape = three, TENSOR_SHAPE, "crystals.shape[1] is 3", "must be 2");
    FAN_SUMS("crystals in a line", named_tensor.ndim = 1, TENSOR_NDIM, "crystals.ndim is 1");
    FAN_SUMS("real crystals", named_tensor.dtype.code = ISOC_DTYPE_FLOAT, TENSOR_DTYPE, "crystals.dtype");
    FAN_SUMS("signed crystals", named_tensor.dtype.code = 0, TENSOR_DTYPE, "crystals.dtype");
    FAN_SUMS("crystals without shape", named_tensor.shape = NULL, NULL_POINTER, "crystals.shape is NULL");
    FAN_SUMS("crystals without data", named_tensor.data = NULL, NULL_POINTER, "crystals.data is NULL");
    FAN_SUMS("less than no events", named_tensor.shape = minus, OUT_OF_RANGE, "crystals.shape[0] is -1");
    FAN_SUMS("more events than there can be", named_tensor.shape = huge, OUT_OF_RANGE, "9223372036854775807");
    FAN_SUMS("fewer labels", labels_tensor.shape = fewer, TENSOR_SHAPE, "labels.shape[0] is 7", "must be 8");
    FAN_SUMS("real labels", labels_tensor.dtype.code = ISOC_DTYPE_FLOAT, TENSOR_DTYPE, "labels.dtype");
    FAN_SUMS("labels without crystals", named_tensor.shape = none, TENSOR_SHAPE, "labels.shape[0] is not 0");
    FAN_SUMS("fewer sums", sums_tensor.shape = few, TENSOR_SHAPE, "sums.shape", "is 11", "must be 12");
    FAN_SUMS("fewer sums a label", (sums_tensor.ndim = 2, sums_tensor.shape = narrow), TENSOR_SHAPE, "sums.shape[1] is 11", "must be 12");
    FAN_SUMS("no sums", (sums_tensor.ndim = 2, sums_tensor.shape = no_sets), OUT_OF_RANGE, "sums.shape[0] is 0");
    FAN_SUMS("too many sums", (sums_tensor.ndim = 2, sums_tensor.shape = sets), OUT_OF_RANGE, "sums.shape[0] is 131072");
    FAN_SUMS("real sums", sums_tensor.dtype.code = ISOC_DTYPE_FLOAT, TENSOR_DTYPE, "sums.dtype");
    FAN_SUMS("small sums", sums_tensor.dtype.bits = 16, TENSOR_DTYPE, "sums.dtype");
    FAN_SUMS("a full sum", sums[6] = UINT32_MAX, SIZE_OVERFLOW, "sums[0, 6] would be above 2^32 - 1");
    FAN_SUMS("a short struct", dropped.struct_size = 8, STRUCT_SIZE, "isoc_pet_dropped.struct_size is 8");
    FAN_SUMS("a short struct for no events", (named_tensor.shape = labels_tensor.shape = none, dropped.struct_size = 8), STRUCT_SIZE,
             "struct_size is 8");
    FAN_SUMS("overlap of crystals", sums_tensor.data = named, OVERLAP, "crystals", "sums", "share memory");
    FAN_SUMS("overlap of labels", sums_tensor.data = labels, OVERLAP, "labels", "sums", "share memory");
    BAD("fan sums: no crystals", has_background(), isoc_pet_fan_sums(pet, 0.0, NULL, NULL, &sums_tensor, NULL), NULL_POINTER, "crystals is NULL");
    BAD("fan sums: nowhere", has_background(), isoc_pet_fan_sums(pet, 0.0, &named_tensor, NULL, NULL, NULL), NULL_POINTER, "sums is NULL");
    BAD("fan sums: uncounted", has_background(), isoc_pet_fan_sums(pet, 0.0, &named_tensor, NULL, &sums_tensor, NULL), OK, NULL);

    /* One event for each cause: a crystal and a label that there are not, a pair of one crystal, one that is steep, and one beside the lattice. */
    set_up(ctx);
    has_background();
    places[3][2] = 200.0, (void)moved();
    memset(sums, 0, sizeof sums);
    sums_tensor.ndim = 2, sums_tensor.shape = two;
    isoc_pet_dropped dropped;
    memset(&dropped, 0, sizeof dropped);
    dropped.struct_size = sizeof dropped;
    named[0][1] = CRYSTALS, labels[1] = 2, named[2][1] = named[2][0], labels[4] = 1, named[7][0] = 0, named[7][1] = 5;
    check_ok("fan_sums", isoc_pet_fan_sums(pet, 0.0, &named_tensor, &labels_tensor, &sums_tensor, &dropped));
    expect("unknown", dropped.unknown == 2);
    expect("a pair of one crystal", dropped.equal_positions == 1);
    expect("steep", dropped.outside_tilts == 1);
    expect("beside the lattice", dropped.outside_lattice == 1 && dropped.events == 5);
    uint32_t sum = 0;
    for (int k = 0; k < 2 * CRYSTALS; k++)
        sum += sums[k];
    expect("the others are counted twice", sum == 2 * (EVENTS - 5));
    expect("of their labels", sums[5] == 1 && sums[11] == 1 && sums[0] == 1 && sums[6] == 1 && sums[CRYSTALS + 4] == 1 && sums[CRYSTALS + 10] == 1);
    check_ok("a wide field of view", isoc_pet_fan_sums(pet, 300.0, &named_tensor, &labels_tensor, &sums_tensor, &dropped));
    expect("has it, and adds", dropped.outside_lattice == 0 && dropped.events == 4 && sums[0] == 3 && sums[5] == 3 && sums[6] == 2);
    named_tensor.shape = none, named_tensor.data = NULL;
    check_ok("no events", isoc_pet_fan_sums(pet, 0.0, &named_tensor, NULL, &sums_tensor, &dropped));
    expect("no events are dropped", dropped.events == 0 && dropped.unknown == 0 && sums[0] == 3);
}

static void single_rates(void) {
    static const int64_t fewer[] = { CRYSTALS - 1 };
    SINGLES("as they are", (void)0, OK, NULL);
    SINGLES("of real sums", sums_tensor = tensor(efficiencies, 1, crystal_list, ISOC_DTYPE_FLOAT, 32), OK, NULL);
    BAD("singles: no scanner", (void)0, isoc_pet_singles(pet, 0.0, 60.0, 0.0, &sums_tensor, &rates_tensor), NOT_CONFIGURED,
        "isoc_pet_set_scanner comes first");
    SINGLES("a field of view below 0", field_of_view = -1.0, OUT_OF_RANGE, "field_of_view is -1 mm");
    SINGLES("an infinite field of view", field_of_view = INFINITY, NOT_FINITE_PARAMETER, "field_of_view is inf");
    SINGLES("no duration", duration = 0.0, OUT_OF_RANGE, "duration is 0 s", "above 0");
    SINGLES("a duration below 0", duration = -60.0, OUT_OF_RANGE, "duration is -60 s");
    SINGLES("a duration of NaN", duration = NAN, NOT_FINITE_PARAMETER, "duration is NaN");
    SINGLES("a window below 0", window = -1.0, OUT_OF_RANGE, "window is -1 ps", "above 0");
    SINGLES("a window of NaN", window = NAN, NOT_FINITE_PARAMETER, "window is NaN");
    SINGLES("a window that nobody knows", without_bins(), NOT_CONFIGURED, "window is 0", "the scanner has no time bins");
    SINGLES("a window of its own", (without_bins(), window = 3000.0), OK, NULL);
    SINGLES("fewer sums", sums_tensor.shape = fewer, TENSOR_SHAPE, "sums.shape[0] is 11", "must be 12");
    SINGLES("signed sums", sums_tensor.dtype.code = 0, TENSOR_DTYPE, "sums.dtype");
    SINGLES("fewer rates", rates_tensor.shape = fewer, TENSOR_SHAPE, "singles.shape[0] is 11", "must be 12");
    SINGLES("whole rates", rates_tensor.dtype.code = ISOC_DTYPE_UINT, TENSOR_DTYPE, "singles.dtype");
    SINGLES("a sum below 0", (sums_tensor = tensor(efficiencies, 1, crystal_list, ISOC_DTYPE_FLOAT, 32), efficiencies[5] = -2.0f), OUT_OF_RANGE,
            "sums[5] is -2", "at least 0");
    SINGLES("a sum of NaN", (sums_tensor = tensor(efficiencies, 1, crystal_list, ISOC_DTYPE_FLOAT, 32), efficiencies[5] = NAN), NOT_FINITE_DATA,
            "sums[5] is NaN");
    SINGLES("no sums", memset(sums, 0, sizeof sums), OUT_OF_RANGE, "sums are 0 everywhere", "no delayed coincidences");
    SINGLES("a sum of no pairs", (places[3][2] = 200.0, moved()), OUT_OF_RANGE, "sums[3] is 100", "no other in its fan");
    SINGLES("overlap", rates_tensor.data = sums, OVERLAP, "sums", "singles", "share memory");
    BAD("singles: NULL", has_background(), isoc_pet_singles(pet, 0.0, 60.0, 0.0, NULL, &rates_tensor), NULL_POINTER, "sums is NULL");
    BAD("singles: nowhere", has_background(), isoc_pet_singles(pet, 0.0, 60.0, 0.0, &sums_tensor, NULL), NULL_POINTER, "singles is NULL");

    /* Of 150 ps at most, each with the one that faces it: 100 are 2 window duration s^2. */
    set_up(ctx);
    has_background();
    check_ok("singles", isoc_pet_singles(pet, 0.0, 60.0, 0.0, &sums_tensor, &rates_tensor));
    const double rate = sqrt(100.0 / (2.0 * 150e-12 * 60.0));
    int alike = 1;
    for (int k = 0; k < CRYSTALS; k++)
        alike &= fabs(rates[k] - rate) < 1e-4 * rate;
    expect("equal sums are of equal rates", alike);
}

static void crystal_efficiencies(void) {
    static const int64_t fewer[] = { CRYSTALS - 1 };
    static double real_sums[CRYSTALS];
    EFFICIENCIES("as they are", (void)0, OK, NULL);
    EFFICIENCIES("of real sums", (sums_tensor = tensor(rates, 1, crystal_list, ISOC_DTYPE_FLOAT, 32)), OK, NULL);
    EFFICIENCIES("of any directions", wanted.directions = 7, OK, NULL);
    BAD("efficiencies: no scanner", (void)0, isoc_pet_efficiencies(pet, 0.0, 0.0, NULL, &sums_tensor, &i, NULL, NULL, &efficiencies_tensor),
        NOT_CONFIGURED, "isoc_pet_set_scanner comes first");
    EFFICIENCIES("of points", of_points(), NOT_CONFIGURED, "crystals are points", "scanner.crystal_width");
    EFFICIENCIES("a field of view below 0", field_of_view = -1.0, OUT_OF_RANGE, "field_of_view is -1 mm");
    EFFICIENCIES("a window below 0", window = -1.0, OUT_OF_RANGE, "window is -1 ps", "above 0");
    EFFICIENCIES("a window of NaN", window = NAN, NOT_FINITE_PARAMETER, "window is NaN");
    EFFICIENCIES("a window that nobody knows", without_bins(), NOT_CONFIGURED, "window is 0", "the scanner has no time bins");
    BAD("efficiencies: a window of nothing", has_background(),
        isoc_pet_efficiencies(pet, 0.0, 150.0, &wanted, &sums_tensor, &i, NULL, NULL, &efficiencies_tensor), OUT_OF_RANGE,
        "window is 150 ps", "there are no singles");
    EFFICIENCIES("singles without a duration", (wanted.duration = wanted.half_life = 0.0), OUT_OF_RANGE, "options.duration is 0", "singles");
    EFFICIENCIES("a branching above 1", wanted.branching = 1.5, OUT_OF_RANGE, "options.branching is 1.5");
    EFFICIENCIES("a map of large voxels", wanted.map_voxel_x = 1001.0, OUT_OF_RANGE, "options.map_voxel_x is 1001 mm");
    EFFICIENCIES("fewer sums", sums_tensor.shape = fewer, TENSOR_SHAPE, "sums.shape[0] is 11", "must be 12");
    EFFICIENCIES("signed sums", sums_tensor.dtype.code = 0, TENSOR_DTYPE, "sums.dtype");
    EFFICIENCIES("a sum below 0", (real_sums[5] = -2.0, sums_tensor = tensor(real_sums, 1, crystal_list, ISOC_DTYPE_FLOAT, 64)), OUT_OF_RANGE,
                 "sums[5] is -2", "at least 0");
    EFFICIENCIES("a sum of NaN", (real_sums[5] = NAN, sums_tensor = tensor(real_sums, 1, crystal_list, ISOC_DTYPE_FLOAT, 64)), NOT_FINITE_DATA,
                 "sums[5] is NaN");
    EFFICIENCIES("no sums", memset(sums, 0, sizeof sums), OUT_OF_RANGE, "sums are 0 everywhere");
    EFFICIENCIES("too many randoms", rates[3] = rates[9] = 1e7f, OUT_OF_RANGE, "randoms of singles are as many as the sums");
    EFFICIENCIES("an activity below 0", image[5] = -1.0f, OUT_OF_RANGE, "image[", "is -1", "at least 0");
    EFFICIENCIES("no activity", memset(image, 0, sizeof image), OUT_OF_RANGE, "image is 0 everywhere");
    EFFICIENCIES("attenuation below 0", map[7] = -1.0f, OUT_OF_RANGE, "attenuation[", "is -1 /mm");
    EFFICIENCIES("fewer rates", rates_tensor.shape = fewer, TENSOR_SHAPE, "singles.shape[0] is 11", "must be 12");
    EFFICIENCIES("a rate below 0", rates[7] = -1.0f, OUT_OF_RANGE, "singles[7] is -1", "at least 0");
    EFFICIENCIES("fewer efficiencies", efficiencies_tensor.shape = fewer, TENSOR_SHAPE, "efficiencies.shape[0] is 11", "must be 12");
    EFFICIENCIES("whole efficiencies", efficiencies_tensor.dtype.code = ISOC_DTYPE_UINT, TENSOR_DTYPE, "efficiencies.dtype");
    EFFICIENCIES("overlap", efficiencies_tensor.data = sums, OVERLAP, "sums", "efficiencies", "share memory");
    EFFICIENCIES("overlap with singles", efficiencies_tensor.data = rates, OVERLAP, "singles", "efficiencies", "share memory");
    EFFICIENCIES("overlap with the map", efficiencies_tensor.data = map, OVERLAP, "attenuation", "efficiencies", "share memory");
    BAD("efficiencies: NULL", has_background(),
        isoc_pet_efficiencies(pet, 0.0, 0.0, &wanted, NULL, &i, NULL, NULL, &efficiencies_tensor), NULL_POINTER, "sums is NULL");
    BAD("efficiencies: no image", has_background(),
        isoc_pet_efficiencies(pet, 0.0, 0.0, &wanted, &sums_tensor, NULL, NULL, NULL, &efficiencies_tensor), NULL_POINTER, "image is NULL");
    BAD("efficiencies: nowhere", has_background(),
        isoc_pet_efficiencies(pet, 0.0, 0.0, &wanted, &sums_tensor, &i, NULL, NULL, NULL), NULL_POINTER, "efficiencies is NULL");

    /* Nine times the sums are of three times the efficiencies. */
    set_up(ctx);
    has_background();
    isoc_tensor i = image_tensor(image);
    check_ok("efficiencies", isoc_pet_efficiencies(pet, 0.0, 0.0, &wanted, &sums_tensor, &i, NULL, NULL, &efficiencies_tensor));
    for (int k = 0; k < CRYSTALS; k++)
        sums[k] *= 9;
    check_ok("efficiencies of more", isoc_pet_efficiencies(pet, 0.0, 0.0, &wanted, &sums_tensor, &i, NULL, NULL, &rates_tensor));
    int alike = 1;
    for (int k = 0; k < CRYSTALS; k++)
        alike &= efficiencies[k] > 0 && fabs(rates[k] / efficiencies[k] - 3.0) < 3e-3;
    expect("efficiencies go with the root of the counts", alike);
}

static double sum_of(const float *values) {
    double sum = 0.0;
    for (int k = 0; k < HISTOS; k++)
        sum += values[k];
    return sum;
}

static void random_events(void) {
    static const int64_t fewer[] = { CRYSTALS - 1 }, three[] = { 3, SIDE_Z, SIDE_Y, SIDE_X };
    RANDOMS("as they are", (void)0, OK, NULL);
    RANDOMS("of directions as usual", directions = 0, OK, NULL);
    BAD("randoms: no scanner", (void)0, isoc_pet_randoms(pet, 60.0, 0.0, 4, &rates_tensor, &a), NOT_CONFIGURED,
        "isoc_pet_set_scanner comes first");
    RANDOMS("of points", of_points(), NOT_CONFIGURED, "crystals are points", "scanner.crystal_width");
    RANDOMS("no duration", duration = 0.0, OUT_OF_RANGE, "duration is 0 s", "above 0");
    RANDOMS("a duration below 0", duration = -60.0, OUT_OF_RANGE, "duration is -60 s");
    RANDOMS("an infinite duration", duration = INFINITY, NOT_FINITE_PARAMETER, "duration is inf");
    RANDOMS("a window below 0", window = -1.0, OUT_OF_RANGE, "window is -1 ps", "above 0");
    RANDOMS("a window of NaN", window = NAN, NOT_FINITE_PARAMETER, "window is NaN");
    RANDOMS("directions", directions = 16385, OUT_OF_RANGE, "directions is 16385", "1 to 16384");
    RANDOMS("fewer rates", rates_tensor.shape = fewer, TENSOR_SHAPE, "singles.shape[0] is 11", "must be 12");
    RANDOMS("whole rates", rates_tensor.dtype.code = ISOC_DTYPE_UINT, TENSOR_DTYPE, "singles.dtype");
    RANDOMS("a rate below 0", rates[7] = -1.0f, OUT_OF_RANGE, "singles[7] is -1", "at least 0");
    RANDOMS("a rate of NaN", rates[3] = NAN, NOT_FINITE_DATA, "singles[3] is NaN");
    RANDOMS("no rate", memset(rates, 0, sizeof rates), OUT_OF_RANGE, "singles are 0 everywhere");
    RANDOMS("histo-images: views", a.shape = three, TENSOR_SHAPE, "histo_images.shape[0] is 3", "must be 4");
    RANDOMS("histo-images of doubles", a.dtype.bits = 64, TENSOR_DTYPE, "histo_images.dtype");
    RANDOMS("histo-images of counts", a.dtype.code = ISOC_DTYPE_UINT, TENSOR_DTYPE, "histo_images.dtype");
    RANDOMS("overlap", a.data = rates, OVERLAP, "singles", "histo_images", "share memory");
    BAD("randoms: NULL", has_background(), isoc_pet_randoms(pet, 60.0, 0.0, 4, NULL, &a), NULL_POINTER, "singles is NULL");
    BAD("randoms: nowhere", has_background(), isoc_pet_randoms(pet, 60.0, 0.0, 4, &rates_tensor, NULL), NULL_POINTER, "histo_images is NULL");

    /* By crystals so wide that nearly all lines meet some. */
    set_up(ctx);
    has_background();
    detectors.crystal_width = 210.0, detectors.crystal_height = 100.0, (void)moved();
    isoc_tensor a = histo_tensor(factors), b = histo_tensor(additive);
    check_ok("randoms of 60 s", isoc_pet_randoms(pet, 60.0, 0.0, 4, &rates_tensor, &a));
    check_ok("randoms of 120 s", isoc_pet_randoms(pet, 120.0, 150.0, 4, &rates_tensor, &b));
    int above = 1;
    for (int k = 0; k < HISTOS; k++)
        above &= factors[k] >= 0.0f;
    const double once = sum_of(factors);
    expect("there are randoms", above && once > 0.0);
    expect("twice as many in twice the time", fabs(sum_of(additive) - 2.0 * once) < 1e-5 * once);
    for (int k = 0; k < CRYSTALS; k++)
        rates[k] *= 3.0f;
    check_ok("randoms of higher rates", isoc_pet_randoms(pet, 60.0, 0.0, 4, &rates_tensor, &b));
    expect("as the square of the rates", fabs(sum_of(additive) - 9.0 * once) < 1e-4 * once);
}

static void scattered_events(void) {
    static const int64_t fewer[] = { CRYSTALS - 1 }, none[] = { 3, 0, 4 }, three[] = { 3, SIDE_Z, SIDE_Y, SIDE_X };
    static const int64_t wide[] = { SIDE_Z, SIDE_Y, SIDE_X + 1 };
    static double doubles[VOXELS];
    doubles[VOXELS / 2] = 1.0;
    SCATTER("as it is", (void)0, OK, NULL);
    SCATTER("of an image of doubles", i = tensor(doubles, 3, image_shape, ISOC_DTYPE_FLOAT, 64), OK, NULL);
    SCATTER("randoms that are counts", b = c, OK, NULL);
    BAD("scatter: as simple as can be", has_background(), isoc_pet_scatter(pet, NULL, &i, NULL, &map_tensor, NULL, NULL, &a, NULL), OK, NULL);
    BAD("scatter: no scanner", (void)0, isoc_pet_scatter(pet, NULL, &i, NULL, &map_tensor, NULL, NULL, &a, NULL), NOT_CONFIGURED,
        "isoc_pet_set_scanner comes first");
    SCATTER("of points", of_points(), NOT_CONFIGURED, "crystals are points", "scanner.crystal_width");
    SCATTER("struct_size", around.struct_size = 3, STRUCT_SIZE, "isoc_pet_scatter_options.struct_size is 3");
    SCATTER("struct_size of factors", wanted.struct_size = 3, STRUCT_SIZE, "isoc_pet_factor_options.struct_size is 3");
    SCATTER("struct_size of what is found", estimate.struct_size = 8, STRUCT_SIZE, "isoc_pet_scatter_found.struct_size is 8");
    SCATTER("reserved", around.reserved = 1, OUT_OF_RANGE, "options.reserved is 1", "must be 0");
    SCATTER("resolution in percent", around.energy_resolution = 11.0, OUT_OF_RANGE, "options.energy_resolution is 11", "at most 1");
    SCATTER("resolution below 0", around.energy_resolution = -0.1, OUT_OF_RANGE, "options.energy_resolution is -0.1", "above 0");
    SCATTER("resolution of NaN", around.energy_resolution = NAN, NOT_FINITE_PARAMETER, "options.energy_resolution is NaN");
    SCATTER("a lower edge above 511 keV", around.energy_lower = 600.0, OUT_OF_RANGE, "options.energy_lower is 600 keV", "below 511");
    SCATTER("an upper edge in MeV", around.energy_upper = 0.5, OUT_OF_RANGE, "options.energy_upper is 0.5 keV", "above 511");
    SCATTER("an infinite edge", around.energy_upper = INFINITY, NOT_FINITE_PARAMETER, "options.energy_upper is inf");
    SCATTER("places too near", around.spacing = 0.5, OUT_OF_RANGE, "options.spacing is 0.5 mm", "1 to 100");
    SCATTER("places of NaN", around.spacing = NAN, NOT_FINITE_PARAMETER, "options.spacing is NaN");
    SCATTER("time", around.tof_fwhm = -1.0, OUT_OF_RANGE, "options.tof_fwhm is -1 ps", "it must be 0 to");
    SCATTER("time of NaN", around.tof_fwhm = NAN, NOT_FINITE_PARAMETER, "options.tof_fwhm is NaN");
    SCATTER("directions", wanted.directions = 16385, OUT_OF_RANGE, "options.directions is 16385", "1 to 16384");
    SCATTER("duration", wanted.duration = -1.0, OUT_OF_RANGE, "options.duration is -1 s");
    SCATTER("voxels of the map", wanted.map_voxel_y = -1.0, OUT_OF_RANGE, "options.map_voxel_y is -1 mm");
    SCATTER("another image", i.shape = wide, TENSOR_SHAPE, "image.shape[2] is 11", "must be 10");
    SCATTER("an image of counts", i.dtype.code = ISOC_DTYPE_UINT, TENSOR_DTYPE, "image.dtype");
    SCATTER("an image below 0", image[9] = -1.0f, OUT_OF_RANGE, "image[0, 0, 9] is -1", "at least 0");
    SCATTER("an image of NaN", image[9] = NAN, NOT_FINITE_DATA, "image[0, 0, 9] is NaN");
    SCATTER("fewer efficiencies", efficiencies_tensor.shape = fewer, TENSOR_SHAPE, "efficiencies.shape[0] is 11", "must be 12 ((crystals)");
    SCATTER("an efficiency below 0", efficiencies[7] = -0.25f, OUT_OF_RANGE, "efficiencies[7] is -0.25", "at least 0");
    SCATTER("an efficiency of NaN", efficiencies[3] = NAN, NOT_FINITE_DATA, "efficiencies[3] is NaN");
    SCATTER("no efficiency", memset(efficiencies, 0, sizeof efficiencies), OUT_OF_RANGE, "efficiencies are 0 everywhere");
    SCATTER("a map of nothing", map_tensor.shape = none, OUT_OF_RANGE, "attenuation.shape[1] is 0");
    SCATTER("a flat map", map_tensor.ndim = 2, TENSOR_NDIM, "attenuation.ndim is 2", "must be 3 (nz, ny, nx)");
    SCATTER("a map below 0", map[25] = -0.5f, OUT_OF_RANGE, "attenuation[1, 1, 1] is -0.5 /mm");
    SCATTER("Hounsfield units", map[0] = -1000.0f, OUT_OF_RANGE, "attenuation[0, 0, 0] is -1000 /mm", "Hounsfield", "isoc_pet_attenuation");
    SCATTER("a map of NaN", map[25] = NAN, NOT_FINITE_DATA, "attenuation[1, 1, 1] is NaN");
    SCATTER("a map of air", memset(map, 0, sizeof map), OUT_OF_RANGE, "attenuation", "nothing scatters");
    SCATTER("a map elsewhere", wanted.map_centre_z = 5000.0, OK, NULL);
    SCATTER("measured: views", c.shape = three, TENSOR_SHAPE, "measured.shape[0] is 3", "must be 4");
    SCATTER("measured: doubles", (c.dtype.code = ISOC_DTYPE_FLOAT, c.dtype.bits = 64), TENSOR_DTYPE, "measured.dtype");
    SCATTER("counts below 0", (c = h, histos[11] = -1.0f), OUT_OF_RANGE, "measured[0, 0, 1, 1] is -1", "must not be below 0");
    SCATTER("counts of NaN", (c = h, histos[0] = NAN), NOT_FINITE_DATA, "measured[0, 0, 0, 0] is NaN");
    SCATTER("randoms: views", b.shape = three, TENSOR_SHAPE, "randoms.shape[0] is 3", "must be 4");
    SCATTER("randoms below 0", additive[1] = -1e-3f, OUT_OF_RANGE, "randoms[0, 0, 0, 1] is -0.001", "must not be below 0");
    SCATTER("infinite randoms", additive[VOXELS] = INFINITY, NOT_FINITE_DATA, "randoms[1, 0, 0, 0] is inf");
    SCATTER("additive: views", a.shape = three, TENSOR_SHAPE, "additive.shape[0] is 3", "must be 4");
    SCATTER("additive: counts", a.dtype.code = ISOC_DTYPE_UINT, TENSOR_DTYPE, "additive.dtype");
    SCATTER("overlap of the image", i.data = a.data = rates, OVERLAP, "image", "additive", "share memory");
    SCATTER("overlap of efficiencies", a.data = efficiencies, OVERLAP, "efficiencies", "additive", "share memory");
    SCATTER("overlap of the map", a.data = map, OVERLAP, "attenuation", "additive", "share memory");
    SCATTER("overlap of counts", a.data = counts, OVERLAP, "measured", "additive", "share memory");
    SCATTER("overlap of randoms", a.data = additive, OVERLAP, "randoms", "additive", "share memory");
    BAD("scatter: no image", has_background(), isoc_pet_scatter(pet, NULL, NULL, NULL, &map_tensor, NULL, NULL, &a, NULL), NULL_POINTER,
        "image is NULL");
    BAD("scatter: no attenuation", has_background(), isoc_pet_scatter(pet, NULL, &i, NULL, NULL, NULL, NULL, &a, NULL), NULL_POINTER,
        "attenuation is NULL");
    BAD("scatter: nowhere", has_background(), isoc_pet_scatter(pet, NULL, &i, NULL, &map_tensor, NULL, NULL, NULL, NULL), NULL_POINTER,
        "additive is NULL");

    /* In water, by crystals so wide that nearly all lines meet some. */
    static float alone[HISTOS];
    set_up(ctx);
    has_background();
    detectors.crystal_width = 210.0, detectors.crystal_height = 100.0, (void)moved();
    isoc_tensor i = image_tensor(image), a = histo_tensor(alone), b = histo_tensor(additive), to = histo_tensor(factors), c = histo_tensor(histos);
    check_ok("scatter", isoc_pet_scatter(pet, &around, &i, NULL, &map_tensor, NULL, NULL, &a, &estimate));
    double most = 0.0, off = 0.0;
    int above = 1;
    for (int k = 0; k < HISTOS; k++)
        above &= alone[k] >= 0.0f, most = fmax(most, alone[k]), additive[k] = 1e-3f * (float)(k % 7);
    expect("water scatters", above && most > 0.0);
    const double scatter = sum_of(alone);
    expect("as much as is found", fabs(estimate.scatter - scatter) < 1e-5 * scatter);
    expect("as it is", estimate.places > 0 && estimate.scale == 1.0 && estimate.tails == 0.0 && estimate.tails_scatter == 0.0);
    check_ok("beside randoms", isoc_pet_scatter(pet, &around, &i, NULL, &map_tensor, NULL, &b, &to, &estimate));
    for (int k = 0; k < HISTOS; k++)
        off = fmax(off, fabs(factors[k] - (double)alone[k] - additive[k]));
    expect("these are added", off < 1e-6 * (most + 6e-3) && fabs(estimate.scatter - scatter) < 1e-5 * scatter);
    wanted.duration = 120.0, wanted.half_life = 0.0;
    check_ok("of stable activity", isoc_pet_scatter(pet, &around, &i, NULL, &map_tensor, NULL, NULL, &to, &estimate));
    const double stable = estimate.scatter;
    wanted.duration = 60.0;
    check_ok("in half of the time", isoc_pet_scatter(pet, &around, &i, NULL, &map_tensor, NULL, NULL, &to, &estimate));
    expect("half as much", fabs(estimate.scatter - 0.5 * stable) < 1e-5 * stable);
    /* Water in a corner alone, and counts in all voxels: those far from it tell the scale, where enough scatter is expected. */
    for (int k = 0; k < HISTOS; k++)
        histos[k] = 5.0f;
    for (int k = 0; k < VOXELS; k++)
        image[k] *= 1e3f;
    wanted.map_voxel_x = wanted.map_voxel_y = 4.0, wanted.map_centre_x = wanted.map_centre_y = -28.0;
    check_ok("of tails", isoc_pet_scatter(pet, &around, &i, NULL, &map_tensor, &c, NULL, &to, &estimate));
    expect("scaled by them", estimate.tails > 400.0 && estimate.tails_scatter > 0.0
        /* Without randoms the noise is that of the counts; 1 / 0.2^2 is known before. */
        && fabs(estimate.scale * (estimate.tails_scatter * estimate.tails_scatter / estimate.tails + 1 / 0.04) - estimate.tails_scatter - 1 / 0.04) < 1e-6 * estimate.tails_scatter
        && fabs(estimate.scale_error * sqrt(estimate.tails_scatter * estimate.tails_scatter / estimate.tails + 1 / 0.04) - 1) < 1e-6
        && fabs(sum_of(factors) - estimate.scale * estimate.scatter) < 1e-4 * sum_of(factors));
    memset(histos, 0, sizeof histos);
    check_ok("of empty tails", isoc_pet_scatter(pet, &around, &i, NULL, &map_tensor, &c, NULL, &to, &estimate));
    expect("not scaled by them", estimate.tails == 0.0 && estimate.scale == 1.0 && estimate.scale_error == 0.2);

    /* A plan that knows no time's width is told one. */
    isoc_pet_geometry g = geometry();
    check_ok("isoc_pet_destroy", isoc_pet_destroy(pet));
    check_ok("isoc_pet_create", isoc_pet_create(ctx, &pet));
    check_ok("isoc_pet_set_geometry", isoc_pet_set_geometry(pet, &g, NULL));
    (void)moved();
    static const char *const words[] = { "options.tof_fwhm is 0", "no response", NULL };
    check_status("scatter: no response", isoc_pet_scatter(pet, &around, &i, NULL, &map_tensor, NULL, NULL, &to, NULL),
                 ISOC_STATUS_NOT_CONFIGURED, words);
    around.tof_fwhm = 120.0;
    check_ok("scatter of a time's width", isoc_pet_scatter(pet, &around, &i, NULL, &map_tensor, NULL, NULL, &to, NULL));
}

/* Calls that say what they need, with all that they can be given. */
enum { MAKES_FACTORS, MAKES_RANDOMS, MAKES_SCATTER, MAKERS };
static const char *const makers[] = { "factors", "randoms", "scatter" };

static isoc_status needs(int maker, uint64_t *host, uint64_t *gpu) {
    if (maker == MAKES_FACTORS)
        return isoc_pet_factors_memory(pet, &wanted, &map_tensor, host, gpu);
    if (maker == MAKES_RANDOMS)
        return isoc_pet_randoms_memory(pet, directions, host, gpu);
    return isoc_pet_scatter_memory(pet, &around, &map_tensor, host, gpu);
}

static isoc_status makes(int maker) {
    isoc_tensor i = image_tensor(image), a = histo_tensor(factors), b = histo_tensor(additive), c = count_tensor();
    if (maker == MAKES_FACTORS)
        return isoc_pet_factors(pet, &wanted, &efficiencies_tensor, &map_tensor, &a);
    if (maker == MAKES_RANDOMS)
        return isoc_pet_randoms(pet, duration, window, directions, &rates_tensor, &a);
    return isoc_pet_scatter(pet, &around, &i, &efficiencies_tensor, &map_tensor, &c, &b, &a, &estimate);
}

/* What a call makes of caps; each in a context and a plan of its own, so that nothing is there yet. */
static void capped(const char *name, int maker, uint64_t host, uint64_t gpu, isoc_status expected, const char *const *words) {
    isoc_context_options c;
    isoc_context *own = NULL;
    uint64_t again[2] = { 0, 0 };
    memset(&c, 0, sizeof c);
    c.struct_size = sizeof c, c.threads = 2, c.memory_cap = host, c.gpu_memory_cap = gpu;
    check_ok("context", isoc_context_create(&c, &own));
    set_up(own);
    has_background();
    check_ok("a cap is no matter to what is needed", needs(maker, &again[0], &again[1]));
    expect("what is needed, whatever the cap", again[0] == host_bytes && again[1] == gpu_bytes);
    if (check_status(name, makes(maker), expected, words))
        report(name, 1, "");
    check_ok("destroy", isoc_pet_destroy(pet));
    pet = NULL;
    check_ok("destroy", isoc_context_destroy(own));
}

static void working_memory(void) {
    static const int64_t none[] = { 3, 0, 4 }, long_map[] = { 1 << 17, 5, 4 }, large_map[] = { 300, 500, 400 };
    FACTORS_MEMORY("as it is", (void)0, OK, NULL);
    BAD("memory of factors: of nothing but the scanner", has_background(), isoc_pet_factors_memory(pet, NULL, NULL, &host_bytes, &gpu_bytes), OK, NULL);
    BAD("memory of factors: of neither", has_background(), isoc_pet_factors_memory(pet, &wanted, &map_tensor, NULL, NULL), OK, NULL);
    BAD("memory of factors: no plan", has_background(), isoc_pet_factors_memory(NULL, &wanted, &map_tensor, &host_bytes, &gpu_bytes), NULL_POINTER, "NULL");
    BAD("memory of factors: no scanner", (void)0, isoc_pet_factors_memory(pet, NULL, NULL, &host_bytes, &gpu_bytes), NOT_CONFIGURED,
        "isoc_pet_set_scanner comes first");
    FACTORS_MEMORY("struct_size", wanted.struct_size = 3, STRUCT_SIZE, "isoc_pet_factor_options.struct_size is 3");
    FACTORS_MEMORY("directions", wanted.directions = 16385, OUT_OF_RANGE, "options.directions is 16385", "1 to 16384");
    FACTORS_MEMORY("voxels of the map", wanted.map_voxel_y = -1.0, OUT_OF_RANGE, "options.map_voxel_y is -1 mm");
    FACTORS_MEMORY("a flat map", map_tensor.ndim = 2, TENSOR_NDIM, "attenuation.ndim is 2", "must be 3 (nz, ny, nx)");
    FACTORS_MEMORY("a map without shape", map_tensor.shape = NULL, TENSOR_NDIM, "with a shape");
    FACTORS_MEMORY("a map of nothing", map_tensor.shape = none, OUT_OF_RANGE, "attenuation.shape[1] is 0");
    FACTORS_MEMORY("a map too long", map_tensor.shape = long_map, OUT_OF_RANGE, "attenuation.shape[0] is 131072");
    FACTORS_MEMORY("a map of any values", map[25] = NAN, OK, NULL);
    FACTORS_MEMORY("a map without values", map_tensor.data = NULL, OK, NULL);

    FACTORS_MEMORY("of points", of_points(), NOT_CONFIGURED, "crystals are points", "scanner.crystal_width");
    FACTORS_MEMORY("half-life without duration", (wanted.duration = 0.0, wanted.half_life = 6586.0), OUT_OF_RANGE, "options.half_life is 6586 beside a duration of 0");

    RANDOMS_MEMORY("as they are", (void)0, OK, NULL);
    RANDOMS_MEMORY("of directions as usual", directions = 0, OK, NULL);
    BAD("memory of randoms: of neither", has_background(), isoc_pet_randoms_memory(pet, 4, NULL, NULL), OK, NULL);
    BAD("memory of randoms: no plan", has_background(), isoc_pet_randoms_memory(NULL, 4, &host_bytes, &gpu_bytes), NULL_POINTER, "NULL");
    BAD("memory of randoms: no scanner", (void)0, isoc_pet_randoms_memory(pet, 4, &host_bytes, &gpu_bytes), NOT_CONFIGURED,
        "isoc_pet_set_scanner comes first");
    RANDOMS_MEMORY("directions", directions = 16385, OUT_OF_RANGE, "directions is 16385", "1 to 16384");

    RANDOMS_MEMORY("of points", of_points(), NOT_CONFIGURED, "crystals are points", "scanner.crystal_width");

    SCATTER_MEMORY("as it is", (void)0, OK, NULL);
    BAD("memory of scatter: as simple as can be", has_background(), isoc_pet_scatter_memory(pet, NULL, &map_tensor, &host_bytes, &gpu_bytes), OK, NULL);
    BAD("memory of scatter: of neither", has_background(), isoc_pet_scatter_memory(pet, &around, &map_tensor, NULL, NULL), OK, NULL);
    BAD("memory of scatter: no plan", has_background(), isoc_pet_scatter_memory(NULL, &around, &map_tensor, &host_bytes, &gpu_bytes), NULL_POINTER, "NULL");
    BAD("memory of scatter: no scanner", (void)0, isoc_pet_scatter_memory(pet, NULL, &map_tensor, &host_bytes, &gpu_bytes), NOT_CONFIGURED,
        "isoc_pet_set_scanner comes first");
    SCATTER_MEMORY("struct_size", around.struct_size = 3, STRUCT_SIZE, "isoc_pet_scatter_options.struct_size is 3");
    SCATTER_MEMORY("struct_size of factors", wanted.struct_size = 3, STRUCT_SIZE, "isoc_pet_factor_options.struct_size is 3");
    SCATTER_MEMORY("reserved", around.reserved = 1, OUT_OF_RANGE, "options.reserved is 1", "must be 0");
    SCATTER_MEMORY("places too near", around.spacing = 0.5, OUT_OF_RANGE, "options.spacing is 0.5 mm", "1 to 100");
    SCATTER_MEMORY("time", around.tof_fwhm = -1.0, OUT_OF_RANGE, "options.tof_fwhm is -1 ps", "it must be 0 to");
    SCATTER_MEMORY("directions", wanted.directions = 16385, OUT_OF_RANGE, "options.directions is 16385", "1 to 16384");
    BAD("memory of scatter: no attenuation", has_background(), isoc_pet_scatter_memory(pet, &around, NULL, &host_bytes, &gpu_bytes), NULL_POINTER,
        "attenuation is NULL");
    SCATTER_MEMORY("a flat map", map_tensor.ndim = 2, TENSOR_NDIM, "attenuation.ndim is 2", "must be 3 (nz, ny, nx)");
    SCATTER_MEMORY("a map of nothing", map_tensor.shape = none, OUT_OF_RANGE, "attenuation.shape[1] is 0");
    SCATTER_MEMORY("a map of counts", map_tensor.dtype.code = ISOC_DTYPE_UINT, TENSOR_DTYPE, "attenuation.dtype");
    SCATTER_MEMORY("a map without values", map_tensor.data = NULL, NULL_POINTER, "attenuation.data is NULL");
    SCATTER_MEMORY("a map below 0", map[25] = -0.5f, OUT_OF_RANGE, "attenuation[1, 1, 1] is -0.5 /mm");
    SCATTER_MEMORY("a map of NaN", map[25] = NAN, NOT_FINITE_DATA, "attenuation[1, 1, 1] is NaN");
    SCATTER_MEMORY("a map of air", memset(map, 0, sizeof map), OUT_OF_RANGE, "attenuation", "nothing scatters");
    SCATTER_MEMORY("of points", of_points(), NOT_CONFIGURED, "crystals are points", "scanner.crystal_width");
    SCATTER_MEMORY("live", wanted.live = 7.0, OUT_OF_RANGE, "options.live is 7");
    SCATTER_MEMORY("a map elsewhere", wanted.map_centre_z = 5000.0, OK, NULL);

    /* A map takes memory by its shape; scatter takes more of more places. */
    set_up(ctx);
    has_background();
    uint64_t plain[2] = { 0, 0 }, small[2] = { 0, 0 }, large[2] = { 0, 0 };
    check_ok("memory of factors without a map", isoc_pet_factors_memory(pet, &wanted, NULL, &plain[0], &plain[1]));
    check_ok("memory of factors", needs(MAKES_FACTORS, &small[0], &small[1]));
    map_tensor.shape = large_map, map_tensor.data = NULL;
    check_ok("memory of factors of a large map", needs(MAKES_FACTORS, &large[0], &large[1]));
    expect("a map takes memory", small[0] > plain[0] && small[1] >= plain[1]);
    expect("by its shape", large[0] > small[0] + 4 * 300 * 500 * 400);
    has_background();
    around.spacing = 40.0;
    check_ok("memory of scatter", needs(MAKES_SCATTER, &small[0], &small[1]));
    around.spacing = 8.0;
    check_ok("memory of more scatter", needs(MAKES_SCATTER, &large[0], &large[1]));
    expect("more places take more", large[0] + large[1] > small[0] + small[1]);

    /* A plan that knows no time's width is told one. */
    isoc_pet_geometry g = geometry();
    check_ok("isoc_pet_destroy", isoc_pet_destroy(pet));
    check_ok("isoc_pet_create", isoc_pet_create(ctx, &pet));
    check_ok("isoc_pet_set_geometry", isoc_pet_set_geometry(pet, &g, NULL));
    (void)moved();
    static const char *const width[] = { "options.tof_fwhm is 0", "no response", NULL };
    check_status("memory of scatter: no response", needs(MAKES_SCATTER, NULL, NULL), ISOC_STATUS_NOT_CONFIGURED, width);
    check_ok("memory of factors: no response", needs(MAKES_FACTORS, NULL, NULL));
    check_ok("memory of randoms: no response", needs(MAKES_RANDOMS, NULL, NULL));
    around.tof_fwhm = 120.0;
    check_ok("memory of scatter of a time's width", needs(MAKES_SCATTER, NULL, NULL));

    /* As much is enough, less is not. */
    static const char *const host[] = { "memory_cap is", "bytes", "need", NULL }, *const gpu[] = { "gpu_memory_cap is", "bytes", "need", NULL };
    for (int maker = 0; maker < MAKERS; maker++) {
        char name[80];
        set_up(ctx);
        has_background();
        snprintf(name, sizeof name, "memory of %s", makers[maker]);
        check_ok(name, needs(maker, &host_bytes, &gpu_bytes));
        snprintf(name, sizeof name, "memory of %s: where it computes", makers[maker]);
        expect(name, host_bytes > 1 && (computes_on_gpu() ? gpu_bytes > 1 : gpu_bytes == 0));
        snprintf(name, sizeof name, "%s in as much memory as needed", makers[maker]);
        capped(name, maker, host_bytes, gpu_bytes, ISOC_STATUS_OK, NULL);
        snprintf(name, sizeof name, "%s in less memory of the host", makers[maker]);
        capped(name, maker, host_bytes - 1, gpu_bytes, ISOC_STATUS_MEMORY_CAP, host);
        if (gpu_bytes == 0)
            continue;
        snprintf(name, sizeof name, "%s in less memory of the GPU", makers[maker]);
        capped(name, maker, host_bytes, gpu_bytes - 1, ISOC_STATUS_MEMORY_CAP, gpu);
    }
}

static void priors(void) {
    static const int64_t flat[] = { VOXELS }, wide[] = { SIDE_Z, SIDE_Y, SIDE_X + 1 }, turned[] = { SIDE_X, SIDE_Y, SIDE_Z };
    static const int64_t back[] = { -SIDE_X * SIDE_Y, SIDE_X, 1 };
    PRIOR("as it is", (void)0, OK, NULL);
    PLAIN_PRIOR("as simple as can be", (void)0, OK, NULL);
    PLAIN_PRIOR("of no strength", prior.strength = 0.0, OK, NULL);
    PLAIN_PRIOR("quadratic", prior.potential = ISOC_PET_POTENTIAL_QUADRATIC, OK, NULL);
    PLAIN_PRIOR("quadratic with an edge", (prior.potential = ISOC_PET_POTENTIAL_QUADRATIC, prior.edge = 0.5), OK, NULL);
    PLAIN_PRIOR("all of relative differences", (prior.gamma = 4.0, prior.epsilon = 0.1), OK, NULL);
    PLAIN_PRIOR("struct_size", prior.struct_size = 3, STRUCT_SIZE, "isoc_pet_prior.struct_size is 3");
    PLAIN_PRIOR("no struct_size", prior.struct_size = 0, STRUCT_SIZE, "isoc_pet_prior.struct_size is 0");
    PLAIN_PRIOR("a large struct_size", prior.struct_size = 1000, STRUCT_SIZE, "isoc_pet_prior.struct_size is 1000");
    PLAIN_PRIOR("potential", prior.potential = 2, UNKNOWN_VALUE, "prior.potential is 2", "0 or 1");
    PLAIN_PRIOR("potential far off", prior.potential = UINT32_MAX, UNKNOWN_VALUE, "prior.potential is 4294967295");
    PLAIN_PRIOR("strength below 0", prior.strength = -0.1, OUT_OF_RANGE, "prior.strength is -0.1", "must be 0 or");
    PLAIN_PRIOR("strength of NaN", prior.strength = NAN, NOT_FINITE_PARAMETER, "prior.strength is NaN");
    PLAIN_PRIOR("infinite strength", prior.strength = INFINITY, NOT_FINITE_PARAMETER, "prior.strength is inf");
    PLAIN_PRIOR("strength beyond f32", prior.strength = 1e300, OUT_OF_RANGE, "prior.strength is 1", "1e30");
    PLAIN_PRIOR("strength near 0", prior.strength = 5e-324, OUT_OF_RANGE, "prior.strength is ", "1e-30");
    PLAIN_PRIOR("gamma below 0", prior.gamma = -2.0, OUT_OF_RANGE, "prior.gamma is -2");
    PLAIN_PRIOR("gamma of NaN", prior.gamma = NAN, NOT_FINITE_PARAMETER, "prior.gamma is NaN");
    PLAIN_PRIOR("epsilon below 0", prior.epsilon = -1e-3, OUT_OF_RANGE, "prior.epsilon is -0.001");
    PLAIN_PRIOR("epsilon of NaN", prior.epsilon = NAN, NOT_FINITE_PARAMETER, "prior.epsilon is NaN");
    PLAIN_PRIOR("an edge of relative differences", prior.edge = 0.5, OUT_OF_RANGE, "prior.edge is 0.5", "0 where prior.potential is 0");
    PLAIN_PRIOR("an edge of NaN of relative differences", prior.edge = NAN, OUT_OF_RANGE, "prior.edge is NaN", "prior.potential is 0");
    PLAIN_PRIOR("quadratic with gamma", (prior.potential = ISOC_PET_POTENTIAL_QUADRATIC, prior.gamma = 2.0), OUT_OF_RANGE, "prior.gamma is 2",
                "0 where prior.potential is 1");
    PLAIN_PRIOR("quadratic with epsilon", (prior.potential = ISOC_PET_POTENTIAL_QUADRATIC, prior.epsilon = 0.1), OUT_OF_RANGE,
                "prior.epsilon is 0.1", "0 where prior.potential is 1");
    PLAIN_PRIOR("an edge below 0", (prior.potential = ISOC_PET_POTENTIAL_QUADRATIC, prior.edge = -0.5), OUT_OF_RANGE, "prior.edge is -0.5");
    PLAIN_PRIOR("an infinite edge", (prior.potential = ISOC_PET_POTENTIAL_QUADRATIC, prior.edge = INFINITY), NOT_FINITE_PARAMETER,
                "prior.edge is inf");
    PLAIN_PRIOR("anatomy_sigma without anatomy", prior.anatomy_sigma = 0.5, OUT_OF_RANGE, "prior.anatomy_sigma is 0.5 without");
    PLAIN_PRIOR("anatomy_sigma of NaN", prior.anatomy_sigma = NAN, NOT_FINITE_PARAMETER, "prior.anatomy_sigma is NaN");
    PRIOR("anatomy without anatomy_sigma", prior.anatomy_sigma = 0.0, OUT_OF_RANGE, "prior.anatomy_sigma is 0 with an");
    PRIOR("anatomy_sigma below 0", prior.anatomy_sigma = -0.5, OUT_OF_RANGE, "prior.anatomy_sigma is -0.5");
    PRIOR("weights: shape", weights_tensor.shape = wide, TENSOR_SHAPE, "weights.shape[2] is 11", "must be 10");
    PRIOR("weights: the other way round", weights_tensor.shape = turned, TENSOR_SHAPE, "weights.shape[2] is 4", "the other way round");
    PRIOR("weights: dimensions", (weights_tensor.ndim = 1, weights_tensor.shape = flat), TENSOR_NDIM, "weights.ndim is 1");
    PRIOR("weights: doubles", weights_tensor.dtype.bits = 64, TENSOR_DTYPE, "weights.dtype");
    PRIOR("weights: counts", weights_tensor.dtype.code = ISOC_DTYPE_UINT, TENSOR_DTYPE, "weights.dtype");
    PRIOR("weights: no data", weights_tensor.data = NULL, NULL_POINTER, "weights.data is NULL");
    PRIOR("weights: no shape", weights_tensor.shape = NULL, NULL_POINTER, "weights.shape is NULL");
    PRIOR("weights: before their data", weights_tensor.strides = back, TENSOR_STRIDES, "weights", "before its data");
    PRIOR("weights: another device", weights_tensor.device.device_type = 77, TENSOR_DEVICE, "device type 77");
    PRIOR("weights below 0", weights[13] = -0.5f, OUT_OF_RANGE, "weights[0, 1, 3] is -0.5", "must not be below 0");
    PRIOR("weights of NaN", weights[13] = NAN, NOT_FINITE_DATA, "weights[0, 1, 3] is NaN");
    PRIOR("infinite weights", weights[VOXELS - 1] = INFINITY, NOT_FINITE_DATA, "weights[3, 8, 9] is inf");
    PRIOR("no weight", memset(weights, 0, VOXELS * sizeof *weights), OK, NULL);
    PRIOR("anatomy: shape", anatomy_tensor.shape = wide, TENSOR_SHAPE, "anatomy.shape[2] is 11", "must be 10");
    PRIOR("anatomy: dimensions", (anatomy_tensor.ndim = 1, anatomy_tensor.shape = flat), TENSOR_NDIM, "anatomy.ndim is 1");
    PRIOR("anatomy: doubles", anatomy_tensor.dtype.bits = 64, TENSOR_DTYPE, "anatomy.dtype");
    PRIOR("anatomy: labels", anatomy_tensor.dtype.code = ISOC_DTYPE_UINT, TENSOR_DTYPE, "anatomy.dtype");
    PRIOR("anatomy: no data", anatomy_tensor.data = NULL, NULL_POINTER, "anatomy.data is NULL");
    PRIOR("anatomy of NaN", anatomy[13] = NAN, NOT_FINITE_DATA, "anatomy[0, 1, 3] is NaN");
    PRIOR("infinite anatomy", anatomy[0] = -INFINITY, NOT_FINITE_DATA, "anatomy[0, 0, 0] is -inf");
    PRIOR("Hounsfield units", (anatomy[13] = -1000.0f, prior.anatomy_sigma = 50.0), OK, NULL);
    PRIOR("weights that are the anatomy", anatomy_tensor = weights_tensor, OK, NULL);
    BAD("prior: no plan", usual_expectations(), isoc_pet_set_prior(NULL, &prior, &weights_tensor, &anatomy_tensor), NULL_POINTER, "NULL");
    BAD("prior: NULL", (void)0, isoc_pet_set_prior(pet, NULL, NULL, NULL), OK, NULL);
    BAD("prior: weights alone", usual_expectations(), isoc_pet_set_prior(pet, NULL, &weights_tensor, NULL), OUT_OF_RANGE, "weights is given",
        "prior is NULL");
    BAD("prior: anatomy alone", usual_expectations(), isoc_pet_set_prior(pet, NULL, NULL, &anatomy_tensor), OUT_OF_RANGE, "anatomy is given",
        "prior is NULL");
    BAD("prior: weights without anatomy", (usual_expectations(), prior.anatomy_sigma = 0.0), isoc_pet_set_prior(pet, &prior, &weights_tensor, NULL),
        OK, NULL);
    BAD("prior: anatomy without weights", usual_expectations(), isoc_pet_set_prior(pet, &prior, NULL, &anatomy_tensor), OK, NULL);
}

/* The sum of the weights of a voxel within the lattice, whose voxels are cubes. */
static double neighbours(void) { return 6.0 + 12.0 / sqrt(2.0) + 8.0 / sqrt(3.0); }

static void prior_gradients(void) {
    static const int64_t flat[] = { VOXELS }, wide[] = { SIDE_Z, SIDE_Y, SIDE_X + 1 };
    static const int64_t still[] = { 0, SIDE_X, 1 }, back[] = { -SIDE_X * SIDE_Y, SIDE_X, 1 };
    PRIOR_GRADIENT("as it is", (void)0, OK, NULL);
    BAD("prior gradient: no plan", has_prior(), isoc_pet_prior_gradient(NULL, &i, &v, &number), NULL_POINTER, "NULL");
    BAD("prior gradient: no prior", (void)0, isoc_pet_prior_gradient(pet, &i, &v, &number), NOT_CONFIGURED, "isoc_pet_set_prior comes first");
    BAD("prior gradient: no image", has_prior(), isoc_pet_prior_gradient(pet, NULL, &v, &number), NULL_POINTER, "image is NULL");
    BAD("prior gradient: no gradient", has_prior(), isoc_pet_prior_gradient(pet, &i, NULL, &number), OK, NULL);
    BAD("prior gradient: no value", has_prior(), isoc_pet_prior_gradient(pet, &i, &v, NULL), OK, NULL);
    BAD("prior gradient: neither", has_prior(), isoc_pet_prior_gradient(pet, &i, NULL, NULL), OK, NULL);
    PRIOR_GRADIENT("a prior taken away", check_ok("set_prior", isoc_pet_set_prior(pet, NULL, NULL, NULL)), NOT_CONFIGURED, "no prior");
    PRIOR_GRADIENT("of another geometry", check_ok("set_geometry", isoc_pet_set_geometry(pet, &g, NULL)), NOT_CONFIGURED, "no prior");
    PRIOR_GRADIENT("image: shape", i.shape = wide, TENSOR_SHAPE, "image.shape[2] is 11", "must be 10");
    PRIOR_GRADIENT("image: dimensions", (i.ndim = 1, i.shape = flat), TENSOR_NDIM, "image.ndim is 1");
    PRIOR_GRADIENT("image: doubles", i.dtype.bits = 64, TENSOR_DTYPE, "image.dtype");
    PRIOR_GRADIENT("image: counts", i.dtype.code = ISOC_DTYPE_UINT, TENSOR_DTYPE, "image.dtype");
    PRIOR_GRADIENT("image: no data", i.data = NULL, NULL_POINTER, "image.data is NULL");
    PRIOR_GRADIENT("image: before its data", i.strides = back, TENSOR_STRIDES, "image", "before its data");
    PRIOR_GRADIENT("image below 0", image[9] = -1.0f, OUT_OF_RANGE, "image[0, 0, 9] is -1", "must not be below 0");
    PRIOR_GRADIENT("image of NaN", image[9] = NAN, NOT_FINITE_DATA, "image[0, 0, 9] is NaN");
    PRIOR_GRADIENT("an infinite image", image[VOXELS - 1] = INFINITY, NOT_FINITE_DATA, "image[3, 8, 9] is inf");
    PRIOR_GRADIENT("gradient: shape", gradient_tensor.shape = wide, TENSOR_SHAPE, "gradient.shape[2] is 11", "must be 10");
    PRIOR_GRADIENT("gradient: dimensions", (gradient_tensor.ndim = 1, gradient_tensor.shape = flat), TENSOR_NDIM, "gradient.ndim is 1");
    PRIOR_GRADIENT("gradient: doubles", gradient_tensor.dtype.bits = 64, TENSOR_DTYPE, "gradient.dtype");
    PRIOR_GRADIENT("gradient: no data", gradient_tensor.data = NULL, NULL_POINTER, "gradient.data is NULL");
    PRIOR_GRADIENT("gradient: elements that coincide", gradient_tensor.strides = still, TENSOR_STRIDES, "gradient", "share memory");
    PRIOR_GRADIENT("overlap", gradient_tensor.data = image, OVERLAP, "image", "gradient", "share memory");
    PRIOR_GRADIENT("overlap of a voxel", (i.data = images, gradient_tensor.data = images + VOXELS - 1), OVERLAP, "image", "gradient", "share memory");
    PRIOR_GRADIENT("one after the other", (i.data = images, gradient_tensor.data = images + VOXELS), OK, NULL);
    /* Weights and anatomy are copies. */
    PRIOR_GRADIENT("over the weights", gradient_tensor.data = weights, OK, NULL);

    /* What cannot be told leaves what is there. */
    set_up(ctx);
    has_prior();
    isoc_tensor i = image_tensor(image);
    double before = 0.0, number = -7.0;
    check_ok("value", isoc_pet_prior_gradient(pet, &i, NULL, &before));
    weights[0] = -1.0f;
    check_status("weights below 0", isoc_pet_set_prior(pet, &prior, &weights_tensor, &anatomy_tensor), ISOC_STATUS_OUT_OF_RANGE, NULL);
    check_ok("value", isoc_pet_prior_gradient(pet, &i, &gradient_tensor, &number));
    expect("a refused prior leaves the one that was set", before > 0.0 && number == before);
    image[VOXELS - 1] = -1.0f, number = -7.0;
    usual_expectations();
    check_status("an image below 0", isoc_pet_prior_gradient(pet, &i, &gradient_tensor, &number), ISOC_STATUS_OUT_OF_RANGE, NULL);
    int same = 1;
    for (int k = 0; k < VOXELS; k++)
        same &= gradient[k] == -7.0f;
    expect("a refused image writes nothing", same && number == -7.0);

    /* Of a uniform image, and of one with a bump: quadratic 2 d^2 / 2 by the neighbours, of relative differences 2 d^2 / (f + g + 2 d). */
    enum { BUMP = (2 * SIDE_Y + 4) * SIDE_X + 5 };
    for (uint32_t potential = 0; potential < 2; potential++) {
        for (int k = 0; k < VOXELS; k++)
            image[k] = 1.5f;
        usual_expectations();
        check_ok("set_prior", isoc_pet_set_prior(pet, &prior, &weights_tensor, &anatomy_tensor));
        prior.strength = 2.0, prior.anatomy_sigma = 0.0, prior.potential = potential;
        check_ok("uniform", isoc_pet_prior_gradient(pet, &i, &gradient_tensor, &number));
        int zero = number == 0.0;
        for (int k = 0; k < VOXELS; k++)
            zero &= gradient[k] == 0.0f;
        expect("a uniform image costs nothing", zero);
        image[BUMP] = 2.5f;
        check_ok("set_prior", isoc_pet_set_prior(pet, &prior, NULL, NULL));
        check_ok("a bump", isoc_pet_prior_gradient(pet, &i, &gradient_tensor, &number));
        const double value = (potential == ISOC_PET_POTENTIAL_QUADRATIC ? 1.0 : 2.0 / 6.0) * neighbours();
        expect("a bump costs its differences", fabs(number - value) < 1e-5 * value);
        int signs = gradient[BUMP] > 0.0f;
        double sum = 0.0;
        for (int k = 0; k < VOXELS; k++) {
            const int dx = abs(k % SIDE_X - BUMP % SIDE_X), dy = abs(k / SIDE_X % SIDE_Y - BUMP / SIDE_X % SIDE_Y);
            const int dz = abs(k / (SIDE_X * SIDE_Y) - BUMP / (SIDE_X * SIDE_Y));
            if (dx > 1 || dy > 1 || dz > 1)
                signs &= gradient[k] == 0.0f;
            else if (k != BUMP)
                signs &= gradient[k] < 0.0f;
            sum += gradient[k];
        }
        expect("it is to sink, its neighbours are to rise, the others are to stay", signs);
        if (potential == ISOC_PET_POTENTIAL_QUADRATIC)
            expect("as much as they", fabs(sum) < 1e-5 * gradient[BUMP] && fabs(gradient[BUMP] - 2.0 * value) < 1e-5 * value);
        /* The slope along the bump, by differences of values. */
        double above = 0.0, below = 0.0;
        const double slope = gradient[BUMP];
        image[BUMP] = 2.5f + 1.0f / 64.0f;
        check_ok("a larger bump", isoc_pet_prior_gradient(pet, &i, NULL, &above));
        image[BUMP] = 2.5f - 1.0f / 64.0f;
        check_ok("a smaller bump", isoc_pet_prior_gradient(pet, &i, NULL, &below));
        expect("the gradient is the value's", fabs(32.0 * (above - below) - slope) < 1e-3 * slope);

        /* Weights are of both neighbours; the anatomy's edge is at two sigma. */
        image[BUMP] = 2.5f, prior.anatomy_sigma = 0.5;
        for (int k = 0; k < VOXELS; k++)
            weights[k] = k == BUMP ? 3.0f : 0.5f, anatomy[k] = k == BUMP ? 1.0f : 0.0f;
        check_ok("set_prior", isoc_pet_set_prior(pet, &prior, &weights_tensor, &anatomy_tensor));
        check_ok("a weighted bump", isoc_pet_prior_gradient(pet, &i, NULL, &number));
        expect("by its weights and its anatomy", fabs(number - 1.5 * exp(-2.0) * value) < 1e-5 * value);
        weights[BUMP] = 0.0f;
        check_ok("set_prior", isoc_pet_set_prior(pet, &prior, &weights_tensor, &anatomy_tensor));
        check_ok("a bump without weight", isoc_pet_prior_gradient(pet, &i, &gradient_tensor, &number));
        expect("costs nothing", number == 0.0 && gradient[BUMP] == 0.0f && gradient[BUMP + 1] == 0.0f);
    }
    memset(image, 0, sizeof image);
    check_ok("nothing at all", isoc_pet_prior_gradient(pet, &i, &gradient_tensor, &number));
    expect("nothing costs nothing", number == 0.0 && gradient[0] == 0.0f && sound(gradient, VOXELS));
    image[BUMP] = 1.0f, prior = usual_prior();
    check_ok("set_prior", isoc_pet_set_prior(pet, &prior, NULL, NULL));
    check_ok("a bump on nothing", isoc_pet_prior_gradient(pet, &i, &gradient_tensor, &number));
    expect("is finite", isfinite(number) && number > 0.0 && sound(gradient, VOXELS));
}

static void all_regions(void) {
    static const int64_t flat[] = { VOXELS }, wide[] = { SIDE_Z, SIDE_Y, SIDE_X + 1 }, back[] = { -SIDE_X * SIDE_Y, SIDE_X, 1 };
    static uint8_t bytes[VOXELS];
    static uint16_t halves[VOXELS];
    bytes[3] = UINT8_MAX, halves[3] = UINT16_MAX;
    REGIONS("as they are", (void)0, OK, NULL);
    REGIONS("of bytes", regions_tensor = tensor(bytes, 3, image_shape, ISOC_DTYPE_UINT, 8), OK, NULL);
    REGIONS("of two bytes each", regions_tensor = tensor(halves, 3, image_shape, ISOC_DTYPE_UINT, 16), OK, NULL);
    REGIONS("one voxel", (memset(regions, 0, sizeof regions), regions[VOXELS - 1] = 1), OK, NULL);
    REGIONS("the largest label", regions[7] = 65535, OK, NULL);
    REGIONS("a larger label", regions[7] = 65536, OUT_OF_RANGE, "regions[0, 0, 7] is 65536", "labels go to 65535");
    REGIONS("as large as can be", regions[VOXELS - 1] = UINT32_MAX, OUT_OF_RANGE, "regions[3, 8, 9] is 4294967", "65535");
    REGIONS("no label", memset(regions, 0, sizeof regions), OUT_OF_RANGE, "regions has no label above 0");
    REGIONS("shape", regions_tensor.shape = wide, TENSOR_SHAPE, "regions.shape[2] is 11", "must be 10");
    REGIONS("dimensions", (regions_tensor.ndim = 1, regions_tensor.shape = flat), TENSOR_NDIM, "regions.ndim is 1");
    REGIONS("real labels", regions_tensor.dtype.code = ISOC_DTYPE_FLOAT, TENSOR_DTYPE, "regions.dtype");
    REGIONS("signed labels", regions_tensor.dtype.code = 0, TENSOR_DTYPE, "regions.dtype");
    REGIONS("wide labels", regions_tensor.dtype.bits = 64, TENSOR_DTYPE, "regions.dtype");
    REGIONS("no data", regions_tensor.data = NULL, NULL_POINTER, "regions.data is NULL");
    REGIONS("no shape", regions_tensor.shape = NULL, NULL_POINTER, "regions.shape is NULL");
    REGIONS("before their data", regions_tensor.strides = back, TENSOR_STRIDES, "regions", "before its data");
    BAD("regions: no plan", usual_expectations(), isoc_pet_set_regions(NULL, &regions_tensor), NULL_POINTER, "NULL");
    BAD("regions: NULL", (void)0, isoc_pet_set_regions(pet, NULL), OK, NULL);
}

/* A reconstruction that is refused writes nothing. */
static isoc_status left_alone(isoc_status status) {
    int same = 1;
    for (int k = 0; k < VOXELS; k++)
        same &= out[k] == -7.0f;
    expect("the image is there if and only if all is well", same == (status != ISOC_STATUS_OK));
    return status;
}

enum { MOST_PASSES = 16 };
static isoc_pet_iteration told[MOST_PASSES];

/* Reconstructs as options say; the number of passes, of which `told` has what they told. */
static int64_t passes_of(isoc_pet_options o) {
    isoc_tensor h = histo_tensor(histos), a = histo_tensor(factors), b = histo_tensor(additive), v = image_tensor(out);
    int64_t number = -1;
    memset(told, 0x55, sizeof told);
    check_ok("options", isoc_pet_set_options(pet, &o));
    check_ok("reconstruct", isoc_pet_reconstruct(pet, &h, &a, &b, &v));
    check_ok("history", isoc_pet_history(pet, told, MOST_PASSES, &number));
    expect("an image of numbers", sound(out, VOXELS));
    return number;
}

static double roughness(const isoc_pet_prior *of) {
    isoc_tensor v = image_tensor(out);
    double number = -1.0;
    check_ok("set_prior", isoc_pet_set_prior(pet, of, NULL, NULL));
    check_ok("roughness", isoc_pet_prior_gradient(pet, &v, NULL, &number));
    check_ok("set_prior", isoc_pet_set_prior(pet, NULL, NULL, NULL));
    return number;
}

static void penalised(void) {
    static uint64_t bytes;
    WITH_PRIOR("RAMLA", (void)0, OUT_OF_RANGE, "options.algorithm is 0 (ramla)", "knows no prior", "isoc_pet_set_prior");
    WITH_PRIOR("OSEM", o.algorithm = ISOC_PET_ALGORITHM_OSEM, OUT_OF_RANGE, "options.algorithm is 1 (osem)", "3 (bsrem) and 4 (svrg)");
    WITH_PRIOR("MLEM", o.algorithm = ISOC_PET_ALGORITHM_MLEM, OUT_OF_RANGE, "options.algorithm is 2 (mlem)", "knows no prior");
    WITH_PRIOR("BSREM", o.algorithm = ISOC_PET_ALGORITHM_BSREM, OK, NULL);
    WITH_PRIOR("SVRG", o.algorithm = ISOC_PET_ALGORITHM_SVRG, OK, NULL);
    WITH_PRIOR("no regions", (o.algorithm = ISOC_PET_ALGORITHM_SVRG, o.stop_region_change = 0.01), NOT_CONFIGURED,
               "options.stop_region_change is 0.01", "isoc_pet_set_regions comes first");
    BAD("no regions of RAMLA", (o.stop_region_change = 0.01, check_ok("options", isoc_pet_set_options(pet, &o))),
        left_alone(isoc_pet_reconstruct(pet, &h, &a, &b, &v)), NOT_CONFIGURED, "options.stop_region_change is 0.01");
    WITH_PRIOR("regions taken away",
               (o.algorithm = ISOC_PET_ALGORITHM_BSREM, o.stop_region_change = 0.01,
                check_ok("regions", isoc_pet_set_regions(pet, &regions_tensor)), check_ok("no regions", isoc_pet_set_regions(pet, NULL))),
               NOT_CONFIGURED, "options.stop_region_change is 0.01");
    WITH_PRIOR("regions of another geometry",
               (o.algorithm = ISOC_PET_ALGORITHM_BSREM, o.stop_region_change = 0.01, check_ok("regions", isoc_pet_set_regions(pet, &regions_tensor)),
                check_ok("set_geometry", isoc_pet_set_geometry(pet, &g, NULL))),
               NOT_CONFIGURED, "options.stop_region_change is 0.01");
    BAD("memory of a prior that RAMLA knows not", has_prior(), isoc_pet_memory(pet, &bytes), OUT_OF_RANGE, "knows no prior");
    WITH_PRIOR("counts below 0", (o.algorithm = ISOC_PET_ALGORITHM_SVRG, histos[11] = -1.0f), OUT_OF_RANGE, "[0, 0, 1, 1] is -1");
    WITH_PRIOR("counts of NaN", (o.algorithm = ISOC_PET_ALGORITHM_BSREM, histos[11] = NAN), NOT_FINITE_DATA, "[0, 0, 1, 1] is NaN");

    for (uint32_t algorithm = ISOC_PET_ALGORITHM_BSREM; algorithm <= ISOC_PET_ALGORITHM_SVRG; algorithm++) {
        set_up(ctx);
        isoc_pet_options o = options();
        o.algorithm = algorithm, o.iterations = 6, o.subsets = 2;
        expect("passes without a prior", passes_of(o) == 6 && told[5].log_likelihood > told[0].log_likelihood);
        int none = 1;
        for (int k = 0; k < 6; k++)
            none &= told[k].penalty == 0.0 && told[k].change == 0.0 && told[k].region_change == 0.0;
        expect("nothing is told that was not asked for", none);
        isoc_pet_prior strong = usual_prior();
        const double rough = roughness(&strong);
        strong.strength = 1.0;
        check_ok("set_prior", isoc_pet_set_prior(pet, &strong, NULL, NULL));
        expect("passes with a prior", passes_of(o) == 6);
        int some = told[0].penalty == 0.0; /* of the uniform image */
        for (int k = 1; k < 6; k++)
            some &= isfinite(told[k].penalty) && told[k].penalty > 0.0;
        expect("a penalty is told", some);
        strong = usual_prior();
        expect("a prior makes images smoother", roughness(&strong) < 0.5 * rough);

        /* A bound that every pass keeps ends after the first that is judged: not the one from the uniform image, nor SVRG's of one step. One that no pass keeps does not. */
        const int judged = algorithm == ISOC_PET_ALGORITHM_SVRG ? 3 : 2;
        has_prior();
        check_ok("regions", isoc_pet_set_regions(pet, &regions_tensor));
        o.stop_change = 1e6;
        expect("a bound that every pass keeps", passes_of(o) == judged && told[0].change > 0.0 && told[0].region_change > 0.0);
        o.stop_region_change = 1e6;
        expect("of regions, too", passes_of(o) == judged);
        o.stop_change = 1e-12;
        expect("both must hold", passes_of(o) == 6 && told[5].change > 1e-12);
        o.stop_change = 0.0;
        expect("regions alone", passes_of(o) == judged && told[0].change > 0.0);
        check_ok("no regions", isoc_pet_set_regions(pet, NULL));
        o.stop_change = 1e-12, o.stop_region_change = 0.0;
        expect("the image alone", passes_of(o) == 6 && told[5].change > 0.0 && told[5].region_change == 0.0);
        o = options();
        isoc_tensor h = histo_tensor(histos), v = image_tensor(out);
        check_ok("options", isoc_pet_set_options(pet, &o));
        check_status("RAMLA with a prior", isoc_pet_reconstruct(pet, &h, NULL, NULL, &v), ISOC_STATUS_OUT_OF_RANGE, NULL);
        check_ok("set_prior", isoc_pet_set_prior(pet, NULL, NULL, NULL));
        expect("RAMLA when it is taken away", passes_of(o) == 2 && told[1].penalty == 0.0);
        o.warm_start = 1, o.algorithm = algorithm;
        has_prior();
        expect("a warm start's first penalty is that of its image", passes_of(o) == 2 && told[0].penalty > 0.0);
    }
}

int main(void) {
    start();
    isoc_context_options c;
    memset(&c, 0, sizeof c);
    c.struct_size = sizeof c, c.threads = 2;
    check_ok("context", isoc_context_create(&c, &ctx));
    c.nan_policy = ISOC_NAN_POLICY_REPLACE;
    check_ok("context", isoc_context_create(&c, &lenient));
    handles();
    geometries();
    responses();
    tables();
    all_options();
    arrays();
    reconstructions();
    events();
    blocks();
    scanners();
    named_events();
    pairs();
    all_factors();
    attenuations();
    detected_events();
    delayed_events();
    single_rates();
    crystal_efficiencies();
    random_events();
    scattered_events();
    working_memory();
    priors();
    prior_gradients();
    all_regions();
    penalised();
    empty_list();
    simulations();
    merits();
    contexts();
    check_ok("destroy", isoc_pet_destroy(pet));
    check_ok("destroy", isoc_context_destroy(ctx));
    check_ok("destroy", isoc_context_destroy(lenient));
    check_threads_end();
    return finish();
}
