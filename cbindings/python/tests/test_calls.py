"""Callbacks, cancelling, Ctrl-C, threads, closed objects, forks."""
import copy
import gc
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import unittest
import warnings
import weakref

import numpy as np

import isocenter

VIEWS, BINS = 256, 256
ANGLES = np.arange(VIEWS) * math.pi / VIEWS


def plan(rows=1, **options):
    return isocenter.CT(isocenter.Context(threads=2, **options), angles=ANGLES, bins=BINS, rows=rows)


def interrupt():
    """As Ctrl-C does. What `os.kill` sends ends a process of Windows."""
    if sys.platform == "win32":
        signal.raise_signal(signal.SIGINT)
    else:
        os.kill(os.getpid(), signal.SIGINT)


def scan(rows=1):
    return np.ones((VIEWS, rows, BINS), np.float32)


class Callbacks(unittest.TestCase):
    def test_progress_and_log(self):
        seen, said = [], []
        ct = plan(32, progress=lambda *a: seen.append(a), log=lambda *a: said.append(a))
        ct.reconstruct(scan(32))
        fractions = [f for f, _ in seen]
        self.assertEqual(fractions, sorted(fractions))
        self.assertEqual(seen[-1], (1.0, "done"))
        ct.set_geometry(angles=0.01 * np.arange(7), bins=BINS)  # a missing wedge is worth a warning
        self.assertTrue(all(level in (1, 2) and isinstance(text, str) for level, text in said))
        self.assertTrue(any(level == 1 and "wedge" in text for level, text in said), said)

    def test_without_log_warnings_go_to_pythons_logger(self):
        with self.assertLogs("isocenter", "WARNING") as logs:
            ct = isocenter.CT(isocenter.Context(threads=1), angles=np.arange(180.0), bins=BINS)  # degrees
            ct.set_geometry(angles=np.arange(120) * np.pi / 180, bins=BINS)
        self.assertEqual([record.levelname for record in logs.records], ["WARNING"] * 2)
        self.assertIn("they may be degrees", logs.output[0])
        self.assertIn("missing wedge", logs.output[1])
        with self.assertLogs("isocenter", "DEBUG") as logs:
            plan().reconstruct(scan())
        self.assertEqual({record.levelname for record in logs.records}, {"DEBUG"})

    def test_angles_that_may_be_degrees(self):
        golden = np.pi * (np.sqrt(5) - 1) / 2
        for angles, warned in ((np.arange(180.0), True), (np.linspace(0, 360, 721), True), (golden * np.arange(1000), False),
                               (np.linspace(0, 40 * np.pi, 4000, endpoint=False), False)):
            said = []
            isocenter.CT(isocenter.Context(threads=1, log=lambda *a: said.append(a)), angles=angles, bins=BINS)
            self.assertEqual(any("may be degrees" in text for _, text in said), warned, angles[-1])

    def test_progress_cancels(self):
        ct = plan(512, progress=lambda fraction, stage: True)
        volume = np.full(ct.volume_shape, np.nan, np.float32)
        with self.assertRaises(isocenter.CancelledError) as caught:
            ct.reconstruct(scan(512), volume)
        self.assertEqual(caught.exception.status, isocenter.enums.Status.CANCELLED)
        self.assertTrue(np.isnan(volume).any())

    def test_what_callbacks_raise_comes_out(self):
        def fails(*_):
            raise ZeroDivisionError("mine")
        for options in (dict(progress=fails), dict(log=fails)):
            with self.subTest(options.keys()), self.assertRaisesRegex(ZeroDivisionError, "mine"):
                ct = plan(64, **options)
                ct.set_geometry(angles=[0.0, 0.01, 0.02, 1.0, 1.01, 1.02, 1.03], bins=BINS)
                ct.reconstruct(np.ones((7, BINS), np.float32))
        for wrong in (3, "print"):
            self.assertRaises(TypeError, isocenter.Context, progress=wrong)

    def test_a_callback_may_use_other_plans_but_not_its_own(self):
        other, seen = plan(), []

        def progress(*_):
            if not seen:
                seen.append(other.reconstruct(scan()).shape)
                try:
                    ct.info()
                except isocenter.BusyError as e:
                    seen.append(e)
        ct = plan(64, progress=progress)
        ct.reconstruct(scan(64))
        self.assertEqual(seen[0], (1, BINS, BINS))
        self.assertIsInstance(seen[1], isocenter.BusyError)


class CtrlC(unittest.TestCase):
    ROWS = 256

    def setUp(self):
        # Jobs in the background of a shell begin with the signal ignored.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))

    def check(self, ct, interrupt):
        volume = np.full(ct.volume_shape, np.nan, np.float32)
        with self.assertRaises(KeyboardInterrupt):
            interrupt()
            ct.reconstruct(scan(self.ROWS), volume)
            while True:  # it came after all
                pass
        self.assertTrue(np.isnan(volume).any())  # it did not go on to the end
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)
        self.assertEqual(ct.reconstruct(scan(self.ROWS)[:, :1].repeat(self.ROWS, 1)).shape, ct.volume_shape)

    def test_from_outside(self):
        """The signal comes at any moment: none may be lost."""
        ct = plan(self.ROWS)
        for milliseconds in (5, 20, 33, 50):
            timer = threading.Timer(milliseconds / 1000, interrupt)
            self.check(ct, timer.start)
            timer.join()

    def test_from_a_callback(self):
        sent = []

        def progress(*_):
            if not sent:
                sent.append(1)
                interrupt()
        self.check(plan(self.ROWS, progress=progress), lambda: None)

    def test_a_callback_of_the_callers_is_ended(self):
        ct, never = plan(4), threading.Event()

        def wait(*_):
            while not never.wait(0.1 if sys.platform == "win32" else None):  # no signal ends a wait of Windows
                pass

        # Before the callback begins, or while it runs.
        for milliseconds in (0, 0.1, 0.2, 0.5, 1, 2, 50):
            timer = threading.Timer(milliseconds / 1000, interrupt)
            with self.assertRaises(KeyboardInterrupt):
                timer.start()
                ct.reconstruct_stream(wait, lambda first, out: None)
            timer.join()
        self.assertEqual(ct.reconstruct(scan(4)).shape, ct.volume_shape)

    def test_a_handler_that_only_notes_does_not_cancel(self):
        noted = []
        before = signal.signal(signal.SIGINT, lambda *_: noted.append(1))
        try:
            ct = plan(64, progress=lambda f, s: None if noted else interrupt())
            self.assertFalse(np.isnan(ct.reconstruct(scan(64), np.full(ct.volume_shape, np.nan, np.float32))).any())
        finally:
            signal.signal(signal.SIGINT, before)
        self.assertEqual(noted, [1])


class Threads(unittest.TestCase):
    def test_one_plan_and_many(self):
        rng = np.random.default_rng(0)
        shared, work = plan(4), [rng.random((VIEWS, 4, BINS), np.float32) for _ in range(6)]
        expected = [shared.reconstruct(w) for w in work]
        failures = []

        def hammer(k):
            try:
                own = plan(4)
                for ct in (shared, own, shared):
                    np.testing.assert_array_equal(ct.reconstruct(work[k]), expected[k])
                    with self.assertRaises(isocenter.TensorShapeError):
                        ct.reconstruct(work[k][:k + 1])
            except BaseException as e:  # shown by the main thread
                failures.append(e)
        threads = [threading.Thread(target=hammer, args=(k,)) for k in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(failures, [])

    def together(self, work, **callbacks):
        """How `work(ct)` ends in two threads with plans of one context: a value, or an exception."""
        context, ends = isocenter.Context(device="cpu", threads=2, **callbacks), [None, None]

        def run(k):
            try:
                ends[k] = work(isocenter.CT(context, angles=ANGLES, bins=BINS, rows=4))
            except BaseException as e:
                ends[k] = e
        threads = [threading.Thread(target=run, args=(k,), name=str(k)) for k in range(2)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        return ends

    def met(self):
        """What lets no thread on, the first time that it comes, until both have: both are in a callback at the same time."""
        barrier, seen = threading.Barrier(2, timeout=60), set()

        def meet():
            me = threading.current_thread().name
            if me not in seen:
                seen.add(me)
                barrier.wait()
            return int(me)
        return meet

    def test_two_threads_are_in_progress_at_a_time(self):
        meet, reports = self.met(), []
        ends = self.together(lambda ct: ct.reconstruct(scan(4)).shape, progress=lambda *a: reports.append((meet(), *a)) and None)
        self.assertEqual(ends, [(4, BINS, BINS)] * 2)
        for k in range(2):
            fractions = [fraction for thread, fraction, _ in reports if thread == k]
            self.assertEqual((fractions, fractions[-1]), (sorted(fractions), 1.0))

    def test_two_threads_are_in_log_at_a_time(self):
        meet = self.met()
        degrees = dict(angles=np.arange(180.0), bins=BINS)
        ends = self.together(lambda ct: ct.set_geometry(**degrees), log=lambda level, _: level == 1 and meet())
        self.assertEqual(ends, [None, None])

    def test_what_progress_answers_is_for_its_own_call(self):
        def ends(answer):
            meet = self.met()
            # The answer to the last report is not heeded.
            return self.together(lambda ct: ct.reconstruct(scan(4)).shape, progress=lambda f, _: f < 1 and answer(meet()))
        cancelled, done = ends(lambda thread: thread == 0)
        self.assertIsInstance(cancelled, isocenter.CancelledError)
        self.assertEqual(done, (4, BINS, BINS))
        for end in ends(lambda thread: True):
            self.assertIsInstance(end, isocenter.CancelledError)

        def fails(thread):
            raise ZeroDivisionError(thread)
        first, second = ends(fails)
        self.assertEqual([(type(e), e.args) for e in (first, second)], [(ZeroDivisionError, (0,)), (ZeroDivisionError, (1,))])
        done, failed = ends(lambda thread: thread and fails(thread))
        self.assertEqual((done, type(failed)), ((4, BINS, BINS), ZeroDivisionError))

    def test_the_interpreter_goes_on_meanwhile(self):
        """Another thread counts while a call runs: ctypes has released the lock."""
        ct, counts, done = plan(256), [0], threading.Event()

        def count():
            while not done.is_set():
                counts[0] += 1
        thread = threading.Thread(target=count)
        during = []
        ct.context  # made without callbacks of ours
        thread.start()
        first = counts[0]
        ct.reconstruct(scan(256))
        during.append(counts[0] - first)
        done.set()
        thread.join()
        self.assertGreater(during[0], 1000)

    def test_closing_while_a_call_runs(self):
        ct = plan(128)
        expected = ct.reconstruct(scan(128))
        results = []
        started = threading.Event()
        other = isocenter.CT(isocenter.Context(threads=1, progress=lambda *_: started.set()), angles=ANGLES, bins=BINS, rows=128)
        thread = threading.Thread(target=lambda: results.append(other.reconstruct(scan(128))))
        thread.start()
        started.wait(60)
        other.close()
        thread.join()
        np.testing.assert_array_equal(results[0], expected)
        self.assertRaises(isocenter.InvalidHandleError, other.reconstruct, scan(128))


class Closed(unittest.TestCase):
    def test_closed_objects(self):
        context = isocenter.Context()
        plans = [kind(context) for kind in (isocenter.CT, isocenter.MRI, isocenter.PET)]
        for p in (*plans, context):
            with p:
                self.assertFalse(p.closed)
            self.assertTrue(p.closed)
            p.close()
            with self.assertRaisesRegex(isocenter.InvalidHandleError, "is closed"):
                p.__enter__()
        for p in plans:
            for call in (p.info, p.memory, p.set_options):
                self.assertRaisesRegex(ValueError, f"this {type(p).__name__} is closed", call)
        self.assertRaises(isocenter.InvalidHandleError, isocenter.CT, context)
        self.assertRaises(isocenter.InvalidHandleError, context.empty, 3)
        self.assertRaises(TypeError, isocenter.CT, "cpu")

    def test_plans_outlive_their_context(self):
        seen = []
        context = isocenter.Context(progress=lambda *a: seen.append(a))
        ct = isocenter.CT(context, angles=ANGLES, bins=BINS)
        context.close()
        del context
        gc.collect()
        ct.reconstruct(scan())
        self.assertEqual(seen[-1][1], "done")

    def test_collected_with_the_object(self):
        ct = plan()
        handle, gone = ct._handle, weakref.ref(ct)
        del ct
        gc.collect()
        self.assertIsNone(gone())
        with self.assertRaisesRegex(isocenter.InvalidHandleError, "not a live"):
            isocenter._call.invoke(isocenter._library.lib.isoc_ct_tune, handle)

    def test_many(self):
        for _ in range(1000):
            isocenter.CT(isocenter.Context(threads=1), angles=[0.0, 1.0], bins=4).close()

    def test_no_copies_of_handles(self):
        for copied in (copy.copy, copy.deepcopy, pickle.dumps):
            for made in (plan(), isocenter.Context(threads=1)):
                self.assertRaisesRegex(TypeError, "cannot be copied or pickled", copied, made)

    def test_records_and_errors_are_pickled(self):
        """So that other processes can return them."""
        for kind in (isocenter.CTInfo, isocenter.CTAxis, isocenter.CTOutput, isocenter.MRIInfo, isocenter.PETInfo, isocenter.Iteration,
                     isocenter.TableSizes,
                     isocenter.Dropped, isocenter.Tally):
            made = kind(*range(len(kind._fields)))
            back = pickle.loads(pickle.dumps(made))
            self.assertEqual((type(back), back), (kind, made))
        made = plan().info()
        self.assertEqual(pickle.loads(pickle.dumps(made)), made)
        with self.assertRaises(isocenter.Error) as caught:
            plan().set_options(cutoff=2.0)
        back = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual((type(back), str(back), back.status),
                         (type(caught.exception), str(caught.exception), caught.exception.status))

    def test_the_interpreter_may_end_at_any_time(self):
        code = ("import isocenter, numpy, threading\n"
                "ct = isocenter.CT(angles=[0.0, 1.0], bins=64); host = ct.context.empty(5)\n"
                "ct.reconstruct(numpy.ones((2, 64), numpy.float32))\n"
                "big = isocenter.CT(angles=numpy.arange(256) * numpy.pi / 256, bins=256, rows=256)\n"
                "threading.Thread(target=big.reconstruct, args=(numpy.ones((256, 256, 256), numpy.float32),), daemon=True).start()")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


@unittest.skipUnless(hasattr(os, "fork"), "Windows has no fork")
class Fork(unittest.TestCase):
    def in_child(self, body):
        """Runs `body` in a forked process, which must end by itself."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python 3.12 says that forks and threads do not mix: that is what is tested
            child = os.fork()
        if not child:
            signal.alarm(60)
            try:
                body()
                os._exit(0)
            except BaseException as e:
                os.write(2, f"{type(e).__name__}: {e}\n".encode())
                os._exit(1)
        _, status = os.waitpid(child, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 0)

    def test_plans_do_not_cross_a_fork_but_work_on_both_sides(self):
        ct = plan()
        expected, host = ct.reconstruct(scan()), ct.context.empty(5)
        host[:] = 3

        def body():
            for call in (ct.info, lambda: ct.reconstruct(scan()), lambda: isocenter.CT(ct.context)):
                try:
                    call()
                except isocenter.InvalidHandleError as e:
                    assert "forked" in str(e), e
                else:
                    raise AssertionError("a plan of another process was used")
            ct.close()
            assert (host == 3).all()
            with plan() as own:
                np.testing.assert_array_equal(own.reconstruct(scan()), expected)
        self.in_child(body)
        np.testing.assert_array_equal(ct.reconstruct(scan()), expected)


if __name__ == "__main__":
    unittest.main()
