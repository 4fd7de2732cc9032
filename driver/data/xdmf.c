/* driver/data/xdmf.c: the XDMF beside an HDF5 file: XML that tells ParaView and VisIt the positions of the steps'
 * arrays in the file, and of their points in space. */
#include "driver/data/writer.h"

/* Writes "Float" or "Int", and the number of bytes. */
static void print_number(FILE *to, StcType t) {
  fprintf(to, "NumberType=\"%s\" Precision=\"%d\"",
          type_is_float((Type)t)         ? "Float"
          : t == STC_I8                  ? "Char"
          : t == STC_U8                  ? "UChar"
          : t == STC_U16 || t == STC_U32 ? "UInt"
                                         : "Int",
          type_size((Type)t));
}

/* Writes the extents of a part's points, slowest first, as those of three dimensions. */
static void print_extents(FILE *to, const StcFieldInfo *f) {
  for (int d = f->rank; d < 3; d++)
    fputs("1 ", to);
  for (int d = 0; d < f->rank; d++)
    fprintf(to, "%lld ", (long long)f->shape[d]);
}

/* Writes three numbers: `more` for each dimension that the field lacks, then its own. */
static void print_three(FILE *to, int rank, double more, const double *values) {
  fputs("      <DataItem Dimensions=\"3\" NumberType=\"Float\" Precision=\"8\" Format=\"XML\">", to);
  for (int d = rank; d < 3; d++)
    fprintf(to, "%.17g ", more);
  for (int d = 0; d < rank; d++)
    fprintf(to, "%.17g ", values[d]);
  fputs("</DataItem>\n", to);
}

/* Writes the positions of a part's points. */
static void print_place(FILE *to, const Writer *w, const FieldPart *p) {
  double origin[MAX_RANK];
  for (int d = 0; d < p->info->rank; d++)
    origin[d] = part_origin(w, p, d);
  fputs("     <Topology TopologyType=\"3DCoRectMesh\" Dimensions=\"", to);
  print_extents(to, p->info);
  fputs("\"/>\n     <Geometry GeometryType=\"ORIGIN_DXDYDZ\">\n", to);
  print_three(to, p->info->rank, 0, origin);
  print_three(to, p->info->rank, 1, w->facts->spacing);
  fputs("     </Geometry>\n", to);
}

/* Writes the lengths of the part's array in the file, after the length of the steps. */
static void print_shape(FILE *to, const FieldPart *p) {
  for (int d = 0; d < p->info->rank; d++)
    fprintf(to, " %lld", (long long)p->info->shape[d]);
  for (int k = 0; k < p->naxes; k++)
    fprintf(to, " %lld", (long long)p->info->axes[k]);
}

/* Writes the slab of an array for its step number `k`: start, stride and count of each dimension; only for component
 * `c`, unless it is -1. */
static void print_slab(FILE *to, const FieldPart *p, int64_t k, int c) {
  int64_t below = p->ncomponents;
  fprintf(to, "       <DataItem Dimensions=\"3 %d\" Format=\"XML\">%lld", 1 + p->info->rank + p->naxes, (long long)k);
  for (int d = 0; d < p->info->rank; d++)
    fputs(" 0", to);
  for (int i = 0; i < p->naxes; i++) {
    below /= p->info->axes[i];
    fprintf(to, " %lld", c < 0 ? 0LL : (long long)(c / below % p->info->axes[i]));
  }
  for (int d = 0; d < 1 + p->info->rank + p->naxes; d++)
    fputs(" 1", to);
  fputs(" 1", to);
  for (int d = 0; d < p->info->rank; d++)
    fprintf(to, " %lld", (long long)p->info->shape[d]);
  for (int i = 0; i < p->naxes; i++)
    fprintf(to, " %lld", c < 0 ? (long long)p->info->axes[i] : 1LL);
  fputs("</DataItem>\n", to);
}

/* Writes the part, or its component `c`, at step number `k` of the file. */
static void print_attribute(FILE *to, const FieldPart *p, const Xdmf *x, int64_t k, int c) {
  fputs("     <Attribute Name=\"", to);
  xml_text(to, p->name);
  if (c >= 0)
    xml_text(to, p->info->components[p->first + c].path);
  fprintf(to, "\" AttributeType=\"%s\" Center=\"Node\">\n      <DataItem ItemType=\"HyperSlab\" Dimensions=\"",
          p->ncomponents > 1 && c < 0 ? "Vector" : "Scalar");
  print_extents(to, p->info);
  fputs(p->ncomponents > 1 && c < 0 ? "3\">\n" : "\">\n", to);
  print_slab(to, p, k, c);
  fputs("       <DataItem Format=\"HDF\" ", to);
  print_number(to, p->type);
  fprintf(to, " Dimensions=\"%lld", (long long)x->nsteps);
  print_shape(to, p);
  fputs("\">", to);
  xml_text(to, x->name);
  fputs(":/", to);
  xml_text(to, p->name);
  fputs("</DataItem>\n      </DataItem>\n     </Attribute>\n", to);
}

/* Writes the part at step number `k`: as a scalar, as a vector of three components, which readers know, or else each
 * component separately. Readers cannot select the parts of complex numbers in an array. */
static void print_part(FILE *to, const FieldPart *p, const Xdmf *x, int64_t k) {
  if (p->pairs) {
    fputs("     <!-- ", to);
    xml_text(to, p->name);
    fputs(": complex numbers, which XDMF does not have -->\n", to);
    return;
  }
  bool whole = !p->naxes || (p->naxes == 1 && p->ncomponents == 3);
  for (int c = 0; c < (whole ? 1 : p->ncomponents); c++)
    print_attribute(to, p, x, k, whole ? -1 : c);
}

/* Writes the time series of all parts with the same points as part `first`. */
static void print_series(FILE *to, const Writer *w, const Xdmf *x, int first) {
  if (x->parts[first].info->rank > GRID_RANK) {
    fputs("  <!-- ", to);
    xml_text(to, x->parts[first].name);
    fputs(": four dimensions, which XDMF does not have -->\n", to);
    return;
  }
  fputs("  <Grid Name=\"", to);
  xml_text(to, x->parts[first].name);
  fputs("\" GridType=\"Collection\" CollectionType=\"Temporal\">\n", to);
  for (int64_t k = 0; k < x->nsteps; k++) {
    fprintf(to, "    <Grid Name=\"step %lld\" GridType=\"Uniform\">\n     <Time Value=\"%lld\"/>\n",
            (long long)x->steps[k], (long long)x->steps[k]);
    print_place(to, w, &x->parts[first]);
    for (int i = first; i < x->nparts; i++)
      if (parts_share_place(&x->parts[first], &x->parts[i]))
        print_part(to, &x->parts[i], x, k);
    fputs("    </Grid>\n", to);
  }
  fputs("  </Grid>\n", to);
}

/* Is part `i` the first with its points? */
static bool is_first(const Xdmf *x, int i) {
  for (int k = 0; k < i; k++)
    if (parts_share_place(&x->parts[k], &x->parts[i]))
      return false;
  return true;
}

StcStatus xdmf_write(const Writer *w, const char *path, const Xdmf *x) {
  OutFile out;
  if (!file_create(w->context, path, &out))
    return STC_IO;
  fputs("<?xml version=\"1.0\"?>\n<!DOCTYPE Xdmf SYSTEM \"Xdmf.dtd\" []>\n<Xdmf Version=\"2.0\">\n <Domain>\n", out.to);
  for (int i = 0; i < x->nparts; i++)
    if (is_first(x, i))
      print_series(out.to, w, x, i);
  fputs(" </Domain>\n</Xdmf>\n", out.to);
  return file_commit(w->context, &out) ? STC_OK : STC_IO;
}
