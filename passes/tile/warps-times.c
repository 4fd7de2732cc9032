/* warps-times.c: when each value of a level is computed, and how long its rows are kept in registers.
 *
 *   u'(y) = a u(y-1) + b u(y) + c u(y+1)     ->     when row y + 1 arrives, add its term to the sum of row y, ..
 *
 * When row y has arrived, row y - t of a value is computed, where t is the value's *time*. Rows of a value are kept in
 * registers until the last value that uses them is computed. A value can be computed as soon as the rows that it uses
 * have arrived, or later; until then these rows have to be kept. Of all assignments of times this file takes one that
 * keeps the fewest words, and among those the one that computes everything earliest. So sums grow row by row, and
 * values that cannot be added up wait as rows of their inputs. An equation whose terms stand in the order of rows keeps
 * a sum for each row to come; the inverse gradient keeps a row and a sum (all at once would be five); fdtd2d a row of
 * each field, since the third stage makes row y - 1 when the first two make row y. All fields leave a level with the
 * same row.
 *
 * *Algorithm*. With integers t(v), the time of value v, and u(v), until when it is used, this is a linear program whose
 * constraints are differences: t(v) >= t(w) + dy and u(w) >= t(v) - dy for each use of w, dy rows away, by v (where a
 * rule may lead to several rows, for the last and the first of them). The sum of words(v) (u(v) - t(v)) is minimized.
 * Whether each number is at least k, for every k, are yes-or-no questions of which some imply others: the optimum is a
 * minimum cut (J. Picard, "Maximal closure of a graph and applications to combinatorial problems", Management Science
 * 22, 1976).
 *
 * *Delayed reads*. In a level that is alone in its warp (one level a warp), the fields that arrive have times, too: the
 * level delays the read of a field: it takes row y - t of the field when row y arrives, from the ring where the row
 * waited. It does so if that saves a third of the words or more. So acoustic_wave keeps 8 words a cell in place of 20:
 * the coefficients and the older time level, which are read at the own row alone, four rows after it arrived, are in no
 * register. rician2d, which would keep 5 in place of 7, was as fast before. Where a warp has several levels, all but
 * the first have their rows from registers, where a delay saves nothing. */
#include "passes/tile/warps.h"
#include "passes/base/tuning.h"

#include <limits.h>

/* ---- minimum cut */

/* An edge to node `to` with its residual capacity `room`; the next edge of the same node. The reverse edge is number i
 * ^ 1. */
typedef struct Edge {
  int32_t to, next;
  int64_t room;
} Edge;

/* Nodes 0 (the source), 1 (the sink) and others. first[n]: the first edge of node n, -1: none; far[n]: edges from the
 * source, -1: it is not reached; at[n]: the edge that is tried next; queue: nodes that were reached, then the edges of
 * a path. */
typedef struct Net {
  Arena *arena;
  int32_t n, nedges, *first, *far, *at, *queue;
  Edge *edge;
} Net;

enum { SOURCE, SINK, NODES };
static const int64_t UNBOUND = INT64_MAX / 4;

static void add_edge(Net *net, int from, int to, int64_t room) {
  ARENA_PUSH(net->arena, net->edge, net->nedges, ((Edge){to, net->first[from], room}));
  net->first[from] = net->nedges - 1;
  ARENA_PUSH(net->arena, net->edge, net->nedges, ((Edge){from, net->first[to], 0}));
  net->first[to] = net->nedges - 1;
}

/* Finds the distance of each node from the source by edges with room; is the sink reached? */
static bool find_far(Net *net) {
  int n = 0;
  for (int i = 0; i < net->n; i++)
    net->far[i] = -1;
  net->far[SOURCE] = 0;
  net->queue[n++] = SOURCE;
  for (int q = 0; q < n; q++)
    for (int e = net->first[net->queue[q]]; e >= 0; e = net->edge[e].next)
      if (net->edge[e].room > 0 && net->far[net->edge[e].to] < 0) {
        net->far[net->edge[e].to] = net->far[net->queue[q]] + 1;
        net->queue[n++] = net->edge[e].to;
      }
  return net->far[SINK] >= 0;
}

/* Does edge `i`, which leaves `node`, have room, and lead to a node one further from the source? */
static bool leads_on(const Net *net, int node, int i) {
  return net->edge[i].room > 0 && net->far[net->edge[i].to] == net->far[node] + 1;
}

/* Finds a shortest path from the source to the sink by edges with room, into net->queue. Returns its number of edges,
 * 0: there is none. Edges that lead nowhere are not tried again. */
static int find_way(Net *net) {
  int n = 0, node = SOURCE;
  while (node != SINK) {
    while (net->at[node] >= 0 && !leads_on(net, node, net->at[node]))
      net->at[node] = net->edge[net->at[node]].next;
    if (net->at[node] >= 0) {
      net->queue[n++] = net->at[node];
      node = net->edge[net->at[node]].to;
    } else if (n == 0)
      return 0;
    else {
      node = net->edge[net->queue[--n] ^ 1].to;
      net->at[node] = net->edge[net->at[node]].next;
    }
  }
  return n;
}

/* Sends as much flow as possible along the `n` edges of net->queue. */
static void send(Net *net, int n) {
  int64_t most = UNBOUND;
  for (int i = 0; i < n; i++)
    most = net->edge[net->queue[i]].room < most ? net->edge[net->queue[i]].room : most;
  for (int i = 0; i < n; i++) {
    net->edge[net->queue[i]].room -= most;
    net->edge[net->queue[i] ^ 1].room += most;
  }
}

/* Finds a maximum flow (Dinic). After it the nodes on the source's side are those whose far is not negative. */
static void cut(Net *net) {
  while (find_far(net)) {
    for (int i = 0; i < net->n; i++)
      net->at[i] = net->first[i];
    for (int n = find_way(net); n; n = find_way(net))
      send(net, n);
  }
}

/* ---- times */

/* The search for the times of level `e`. Number 2 v is t(v), 2 v + 1 is u(v). Each lies from lo to hi, and is at least
 * k if node node[number] + k - lo - 1 is on the source's side. late: reads of fields that arrive may be delayed. */
typedef struct Times {
  WarpLevel *e;
  bool late;
  int32_t *lo, *hi, *node;
  Net net;
} Times;

/* Does value `v` have rows that are computed at some time? */
static bool is_timed(const WarpLevel *e, int v) {
  return e->value[v].wanted && !e->value[v].free && e->value[v].kind != WARP_NOTHING;
}

/* Words that a row of value `v` takes for each cell; outside values are spilled elsewhere and take none. */
static int32_t words_of(const WarpValue *v) { return v->kind == WARP_OUTSIDE ? 0 : (type_size(v->type) + 3) / 4; }

/* Finds the earliest times, and the lag. */
static void find_earliest(WarpLevel *e) {
  for (int v = 0; v < e->nvalues; v++) {
    WarpValue *x = &e->value[v];
    x->time = x->kind == WARP_NEW || x->kind == WARP_INPUT || x->kind == WARP_OUTSIDE ? 0 : -e->below;
    for (int i = 0; i < x->nuses; i++)
      if (is_timed(e, x->uses[i].value))
        x->time = larger(x->time, e->value[x->uses[i].value].time + x->uses[i].hi[0]);
  }
  for (int i = 0; i < e->nfields; i++)
    e->lag = larger(e->lag, e->value[e->field[i].out].time);
  for (int v = 0; v < e->nvalues; v++)
    if (warps_probe(e, v))
      e->lag = larger(e->lag, e->value[v].time);
}

/* Finds until when each value is used. */
static void find_until(WarpLevel *e) {
  for (int v = 0; v < e->nvalues; v++)
    e->value[v].until = e->value[v].time;
  for (int v = 0; v < e->nvalues; v++)
    for (int i = 0; i < e->value[v].nuses && is_timed(e, v); i++) {
      WarpValue *w = &e->value[e->value[v].uses[i].value];
      w->until = larger(w->until, e->value[v].time - e->value[v].uses[i].lo[0]);
    }
  for (int i = 0; i < e->nfields; i++)
    e->value[e->field[i].out].until = larger(e->value[e->field[i].out].until, e->lag);
}

/* The node for "number `x` is at least `k`"; SOURCE: it always is; SINK: it never is. */
static int node_of(const Times *p, int x, int32_t k) {
  return k <= p->lo[x] ? SOURCE : k > p->hi[x] ? SINK : p->node[x] + k - p->lo[x] - 1;
}

/* Adds the edges for: if number `x` is at least k, for any k, then number `y` is at least k + more. */
static void imply(Times *p, int x, int y, int32_t more) {
  for (int32_t k = p->lo[x] + 1; k <= p->hi[x]; k++)
    if (node_of(p, y, k + more) != SOURCE)
      add_edge(&p->net, node_of(p, x, k), node_of(p, y, k + more), UNBOUND);
}

/* Finds bounds of all numbers, from the earliest times, and gives them nodes. */
static void find_bounds(Times *p) {
  WarpLevel *e = p->e;
  p->net.n = NODES;
  for (int v = 0; v < e->nvalues; v++) {
    const WarpValue *x = &e->value[v];
    bool timed = is_timed(e, v);
    p->lo[2 * v] = x->time;
    p->hi[2 * v] = timed && (p->late || x->kind != WARP_INPUT) ? larger(e->lag, x->time) : x->time;
    p->lo[2 * v + 1] = x->until;
    p->hi[2 * v + 1] = timed ? larger(x->until, e->lag + e->below + e->above) : x->until;
    for (int i = 2 * v; i < 2 * v + 2; i++) {
      p->node[i] = p->net.n;
      p->net.n += p->hi[i] - p->lo[i];
    }
  }
}

/* Adds the edges of value `v`: the words that its times gain and cost, and the implications of its times. */
static void add_value(Times *p, int v) {
  const WarpValue *x = &p->e->value[v];
  for (int32_t k = p->lo[2 * v] + 1; k <= p->hi[2 * v]; k++)
    add_edge(&p->net, SOURCE, node_of(p, 2 * v, k), words_of(x));
  for (int32_t k = p->lo[2 * v + 1] + 1; k <= p->hi[2 * v + 1]; k++)
    add_edge(&p->net, node_of(p, 2 * v + 1, k), SINK, words_of(x));
  for (int i = 2 * v; i < 2 * v + 2; i++)
    imply(p, i, i, -1);
  imply(p, 2 * v, 2 * v + 1, 0);
  for (int i = 0; i < x->nuses; i++) {
    int w = x->uses[i].value;
    if (!is_timed(p->e, w))
      continue;
    imply(p, 2 * w, 2 * v, x->uses[i].hi[0]);
    imply(p, 2 * v, 2 * w + 1, -x->uses[i].lo[0]);
  }
}

/* Sets the time of outside values to the row at which they are due, if all their inputs are kept until then; otherwise
 * outside values are spilled. */
static void wait_outside(WarpLevel *e) {
  for (int v = 0; v < e->nvalues; v++) {
    if (!e->value[v].wanted || !warps_has_boundary(e, v))
      continue;
    WarpValue *x = &e->value[e->value[v].outside];
    int32_t last = e->value[v].time;
    for (int i = 0; i < x->nuses; i++)
      last = is_timed(e, x->uses[i].value) && e->value[x->uses[i].value].until < last ? e->value[x->uses[i].value].until
                                                                                      : last;
    x->time = larger(x->time, last);
  }
}

/* Finds the latest times, and the greatest number of rows for which a value is kept. */
static void find_most(WarpLevel *e) {
  e->latest = e->lag;
  for (int v = 0; v < e->nvalues; v++)
    if (is_timed(e, v)) {
      e->latest = larger(e->latest, e->value[v].time);
      e->keeps = larger(e->keeps, e->value[v].until - e->value[v].time + 1);
    }
  for (int n = 0; n < e->nfields; n++)
    e->delay = larger(e->delay, warps_delay(e, n));
}

/* The greatest number of nodes of a level's graph with which times are searched: with more it takes too long. */
enum { MOST_NODES = 200000 };

/* Sets the times that keep the fewest words, if the search is not too long; otherwise the earliest times remain. */
static void find_fewest(WarpLevel *e, bool late) {
  Arena *a = e->m->arena;
  Times p = {.e = e,
             .late = late,
             .lo = ARENA_ARRAY(a, int32_t, 2 * e->nvalues),
             .hi = ARENA_ARRAY(a, int32_t, 2 * e->nvalues),
             .node = ARENA_ARRAY(a, int32_t, 2 * e->nvalues),
             .net = {.arena = a}};
  find_bounds(&p);
  if (p.net.n > MOST_NODES)
    return;
  p.net.first = ARENA_ARRAY(a, int32_t, p.net.n);
  p.net.far = ARENA_ARRAY(a, int32_t, p.net.n);
  p.net.at = ARENA_ARRAY(a, int32_t, p.net.n);
  p.net.queue = ARENA_ARRAY(a, int32_t, p.net.n);
  for (int i = 0; i < p.net.n; i++)
    p.net.first[i] = -1;
  for (int v = 0; v < e->nvalues; v++)
    if (is_timed(e, v))
      add_value(&p, v);
  cut(&p.net);
  for (int v = 0; v < e->nvalues; v++)
    for (int32_t k = p.lo[2 * v] + 1; k <= p.hi[2 * v] && is_timed(e, v); k++)
      e->value[v].time += p.net.far[node_of(&p, 2 * v, k)] >= 0;
  find_until(e);
}

void warps_times(WarpLevel *e, bool late) {
  find_earliest(e);
  find_until(e);
  find_fewest(e, late);
  wait_outside(e);
  find_most(e);
}

int32_t warps_delay(const WarpLevel *e, int n) {
  int in = e->field[n].in;
  return in >= 0 && is_timed(e, in) ? e->value[in].time : 0;
}

int32_t warps_kept(const WarpLevel *e, int v) {
  const WarpValue *x = &e->value[v];
  return is_timed(e, v) && x->kind != WARP_OUTSIDE ? x->until - x->time : 0;
}

int32_t warps_spilled_rows(const WarpLevel *e) {
  int32_t most = 0;
  for (int v = 0; v < e->nvalues; v++)
    if (is_timed(e, v) && e->value[v].kind == WARP_OUTSIDE)
      most = larger(most, e->value[v].until - e->value[v].time);
  return most;
}
