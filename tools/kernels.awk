# kernels.awk: makes the table of kernels out of lines of `abut bench` ("name value unit": kernel.*, launches.*, idle.*,
# roof.*; rows of sweep.md as well) and of abut_work ("kernel.* additions multiplications divisions roots bytes").
#
#   awk -v json=kernels.json -f tools/kernels.awk work.log roofs.log kernels*.log sweep.md >kernels.md
#
# What is not there costs its columns only. docs/gpu.md says what they mean.

NF == 6 && $1 ~ /^kernel\./ { additions[$1] = $2; multiplications[$1] = $3; divisions[$1] = $4; roots[$1] = $5; bytes[$1] = $6 }
NF == 7 && $1 == "|" { value[$2] = $4 }
NF == 3 { value[$1] = $2 }
NF == 3 && $1 ~ /^kernel\..*\.cuda\.n[0-9]+$/ {
  split($1, part, ".")
  group = part[2] "." part[3] "." part[4] ".cuda." part[7]
  if (part[5] == "gap") { gap[group] = $2; next }
  if (!(group in count)) groups[++group_count] = group
  name[group, ++count[group]] = part[5]
}

# the kernel's own roofs: sets least (us) and roof, the one that takes longest
function consider(what, us) { if (us > least) { least = us; roof = what } }
function bound(line, work, dtype, envs,    fused) {
  least = 0; roof = "-"
  if (value["idle." line] > 0) consider("launch", value["launches." line] * value["idle." line])
  if (!(work in bytes)) return
  if (value["roof.memory." dtype ".cuda"] > 0) consider("memory", envs * bytes[work] / value["roof.memory." dtype ".cuda"] * 1e-3)
  fused = additions[work] > multiplications[work] ? additions[work] : multiplications[work]
  if (value["roof.fma." dtype ".cuda"] > 0 && value["roof.division." dtype ".cuda"] > 0 && value["roof.root." dtype ".cuda"] > 0)
    consider("flop", envs * 1e-3 * (fused / value["roof.fma." dtype ".cuda"] + divisions[work] / value["roof.division." dtype ".cuda"] + roots[work] / value["roof.root." dtype ".cuda"]))
}

function thousands(n,    s) { s = ""; while (n >= 1000) { s = sprintf(",%03d", n % 1000) s; n = int(n / 1000) } return n s }

# rows of a group, longest first
function sort(group,    i, j, key) {
  for (i = 1; i <= count[group]; i++) {
    key = name[group, i]
    for (j = i - 1; j >= 1 && us_of(group, name[group, j]) < us_of(group, key); j--) name[group, j + 1] = name[group, j]
    name[group, j + 1] = key
  }
}
function line_of(group, kernel,    part) {
  split(group, part, ".")
  return "kernel." part[1] "." part[2] "." part[3] "." kernel ".cuda." part[5]
}
function us_of(group, kernel) { return value[line_of(group, kernel)] + 0 }

function table(group,    part, envs, i, kernel, line, work, us, sum, launches, flop, mflop, mb) {
  split(group, part, ".")
  envs = substr(part[5], 2) + 0
  sort(group)
  printf "\n## %s %s, %s, %s environments\n\n", part[1], part[2], part[3], thousands(envs)
  print "| kernel | us per step | launches per step | Mflop per step | MB per step | binding roof | at least us | fraction |"
  print "| --- | --- | --- | --- | --- | --- | --- | --- |"
  sum = launches = 0
  for (i = 1; i <= count[group]; i++) {
    kernel = name[group, i]
    line = line_of(group, kernel)
    work = "kernel." part[1] "." part[2] "." part[3] "." kernel
    us = us_of(group, kernel)
    bound(line, work, part[3], envs)
    flop = envs * (additions[work] + multiplications[work] + divisions[work] + roots[work])
    mflop = work in bytes ? sprintf("%.4g", 1e-6 * flop) : "-"
    mb = work in bytes ? sprintf("%.4g", 1e-6 * envs * bytes[work]) : "-"
    printf "| %s | %.4g | %.4g | %s | %s | %s | %.4g | %s |\n", kernel, us, value["launches." line], mflop, mb, roof, least,
      (us > 0 ? sprintf("%.2f", least / us) : "-")
    if (json)
      printf "%s{\"scene\": \"%s\", \"regime\": \"%s\", \"dtype\": \"%s\", \"envs\": %d, \"kernel\": \"%s\", \"us\": %.6g, \"launches\": %.6g, \"flop\": %s, \"bytes\": %s, \"roof\": \"%s\", \"least_us\": %.6g}", \
        rows++ ? ",\n" : "[\n", part[1], part[2], part[3], envs, kernel, us, value["launches." line],
        work in bytes ? sprintf("%.6g", flop) : "null", work in bytes ? sprintf("%.6g", envs * bytes[work]) : "null", roof, least >json
    sum += us
    launches += value["launches." line]
  }
  printf "\nAll kernels: %.4g us per step in %.4g launches; %.4g us of it are the clock's marks, %.4g us each.", sum, launches, launches * gap[group], gap[group]
  line = "batched.step." part[1] "." part[2] "." part[3] ".cuda." part[5]
  printf line in value ? sprintf(" Unmarked, a batched step takes %.4g us.\n", 1e3 * value[line]) : "\n"
}

END {
  print "| roof | f64 | f32 |"
  print "| --- | --- | --- |"
  split("memory fma division root", kinds, " ")
  split("GB/s|1e9 multiply-adds/s|1e9 divisions/s|1e9 square roots/s", units, "|")
  for (i = 1; i <= 4; i++)
    printf "| %s, %s | %s | %s |\n", kinds[i], units[i], roof_cell(kinds[i], "f64"), roof_cell(kinds[i], "f32")
  for (i = 1; i <= group_count; i++) table(groups[i])
  if (json) print rows ? "\n]" : "[]" >json
}
function roof_cell(kind, dtype) { return ("roof." kind "." dtype ".cuda") in value ? sprintf("%.4g", value["roof." kind "." dtype ".cuda"]) : "-" }
