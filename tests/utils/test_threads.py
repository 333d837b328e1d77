"""Limits on threads nest, and tasks side by side obey them."""

import threading

from threadpoolctl import threadpool_info

from manyview.utils import threads


def blas_threads():
    return max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")


def names_of_workers(size, n_expected):
    """The threads that ran eight tasks, each of which waits until as many run as are expected."""
    together = threading.Barrier(n_expected, timeout=60)

    def task(_):
        together.wait()
        return threading.current_thread().name

    return set(threads.side_by_side(task, range(8), size))


def test_results_come_in_the_order_of_the_items():
    with threads.limit_threads(2):
        squares = threads.side_by_side(lambda i: i * i, range(50), 1e9)
        assert list(squares) == [i * i for i in range(50)]


def test_few_results_wait_to_be_taken():
    begun = []
    with threads.limit_threads(2):
        results = threads.side_by_side(begun.append, range(50))
        next(results)
        assert len(begun) <= 3
        assert len([*results]) == 49
    assert len(begun) == 50


def test_a_limit_holds_for_our_threads_and_for_blas_and_inner_limits_do_not_raise_it():
    with threads.limit_threads(1):
        assert blas_threads() == 1
        with threads.limit_threads(4):
            assert len(names_of_workers(1e9, 1)) == 1
    with threads.limit_threads(2):
        assert len(names_of_workers(1e9, 2)) == 2
        assert len(names_of_workers(1.0, 1)) == 1


def test_small_products_take_one_thread_of_blas_and_leave_ours_alone():
    with threads.limit_threads(2), threads.limit_threads(None, product_size=1.0):
        assert blas_threads() == 1
        assert len(names_of_workers(1e9, 2)) == 2


def test_small_products_round_the_same_for_any_limit():
    with threads.limit_threads(2, product_size=1.0):
        assert blas_threads() == 1
        assert threads.n_threads() == 2


def test_without_a_limit_there_are_no_more_threads_than_blas_has():
    with threads.limit_blas(1):
        assert threads.n_threads() == 1
        with threads.limit_threads(None):
            assert len(names_of_workers(1e9, 1)) == 1


def test_blas_has_one_thread_in_each_task_and_what_it_had_afterwards():
    before = blas_threads()
    assert set(threads.side_by_side(lambda _: blas_threads(), range(4), 1e9)) == {1}
    assert blas_threads() == before
