"""Finds what a blurred picture was before: a stencil program as a layer of a PyTorch loop, with a gradient. Diffusion with periodic edges is its
own adjoint, so the gradient of the operator is the operator. Needs torch.

    python torch_training.py [--device=cuda] [--compile] [--quick]
"""
import argparse

import torch

import stc.torch

PROGRAM = """
param N = 128, M = 128;
grid  G = [0 .. N-1, 0 .. M-1], 20;
field A : f32 on G outside periodic;
stencil blur(A)[G] = 0.5 * A + 0.125 * (A[-1,0] + A[1,0] + A[0,-1] + A[0,1]);
"""


def backward(ctx, gradient):
    """The adjoint: the same blur of the gradient. Nothing for the number of steps."""
    return blur(gradient.contiguous(), ctx.steps), None


blur = stc.torch.operator("examples::blur", PROGRAM, backward=backward)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(1)
    n, rounds = (32, 30) if options.quick else (128, 300)
    truth = torch.zeros(n, n, device=options.device)
    truth[n // 4:n // 2, n // 3:2 * n // 3] = 1
    seen = blur(truth, 4)
    guess = torch.full_like(truth, 0.5).requires_grad_()
    optimizer = torch.optim.Adam([guess], lr=0.05)

    def loss_of(x):
        return ((blur(x, 4) - seen)**2).mean()

    loss_of = torch.compile(loss_of) if options.compile else loss_of
    for i in range(rounds):
        optimizer.zero_grad()
        loss = loss_of(guess)
        loss.backward()
        optimizer.step()
        if i % (rounds // 3) == 0:
            print(f"round {i}: loss {loss.item():.6f}")
    print(f"loss {loss.item():.6f}, error {(guess - truth).abs().mean().item():.4f}")


if __name__ == "__main__":
    main()
