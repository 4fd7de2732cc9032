! The gradient of backward.stn through the modules that -emit=fortran and -emit=back.fortran made: writes
! it by T and by q, the value, and the derivative by k to the file that the command line names.
program main
  use backward
  use backward_back
  implicit none
  integer, parameter :: steps = 400
  type(backward_params) :: p
  type(backward_back_params) :: b
  real(c_double), allocatable :: T(:,:), q(:), last(:), by_T(:), by_q(:), by_k(:)
  real(c_double) :: value
  character(1000) :: path
  integer(c_int64_t) :: done, i
  integer :: out

  p = backward_defaults()
  b = backward_back_defaults()
  i = backward_extent_T(p, 0)
  if (backward_back_size_T(b) /= i .or. backward_back_size_T_end(b) /= i) error stop 1
  if (backward_back_extent_q_bar(b, 0) /= i .or. backward_back_size_k_bar(b) /= i) error stop 1
  allocate(T(i, 0:steps), q(i), last(i), by_T(i), by_q(i), by_k(i))
  T(:, 0) = [(merge(1, 0, i <= 10), i = 1, size(q))]
  q = 0.01d0
  do i = 0, steps - 1
    T(:, i + 1) = T(:, i)
    call check(backward_message(backward_run(p, i, 1_c_int64_t, T(:, i + 1), q)))
  end do
  b%back_last__ = steps
  last = T(:, steps)
  call check(backward_back_message(backward_back_init(b, T(:, steps), q, last, by_T, by_q, by_k)))
  do i = steps, 0, -1
    call check(backward_back_message( &
        backward_back_run(b, steps - i, 1_c_int64_t, T(:, i), q, last, by_T, by_q, by_k, done)))
    if (i == steps) value = b%warmth
  end do
  call get_command_argument(1, path)
  open(newunit=out, file=trim(path), access='stream', form='unformatted', status='replace')
  write(out) by_T, by_q, value, sum(by_k)
  close(out)

contains
  subroutine check(message)
    character(*), intent(in) :: message
    if (len(message) > 0) then
      print *, message
      error stop 2
    end if
  end subroutine
end program
