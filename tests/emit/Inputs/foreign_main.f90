! Runs the same through the module that -emit=fortran made of foreign.stn.
program main
  use foreign
  implicit none
  type(foreign_params) :: p
  real(c_double), allocatable :: u(:,:), past(:,:)
  real(c_double) :: src(6)
  integer(c_int64_t) :: done, i
  p = foreign_defaults()
  print '(i0,1x,i0)', foreign_extent_U(p, 0), foreign_length_src(p)
  p%N = 30
  allocate(u(30, 30), past(30, 30))
  src = [(0.5d0 * i, i = 0, 5)]
  u = 0
  past = 0
  if (len(foreign_message(foreign_init(p, u, past, src))) > 0) error stop 1
  if (len(foreign_message(foreign_run(p, 0_c_int64_t, 20_c_int64_t, u, past, src, done))) > 0) error stop 2
  print '(i0,1x,i0,1x,i0)', done, transfer(p%total, 0_c_int64_t), transfer(u(6, 4), 0_c_int64_t)
end program
