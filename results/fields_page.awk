# Makes the manual's page of figures: awk -f fields_page.awk fields.def.
function named(cell,   at) { return match($0, cell "\\([^)]*") ? substr($0, RSTART + length(cell) + 1, RLENGTH - length(cell) - 1) : "" }
function code(text) { gsub(/"/, "", text); return text == "" ? "" : "`" text "`" }
function first(text) { sub(/,.*/, "", text); return text }
BEGIN {
  unit["NS"] = "ns"; unit["RATIO"] = "ratio"; unit["BYTES"] = "bytes"; unit["BYTES_PER_S"] = "bytes/s"; unit["FLOPS_PER_S"] = "FLOP/s"; unit["WORDS"] = "text"
  better["LOWER"] = "lower"; better["HIGHER"] = "higher"
  print "# The figures of a case\n"
  print "Made from `results/fields.def`. The first column is the path within a case of the document. *Varies*: it is made of samples of"
  print "time, and judged with an interval; what does not vary is compared exactly. *Formats* is the name in the formats"
  print "that hold figures by name (`format=csv` has columns of its own), *dashboard* the field of its API, and *policy* the field"
  print "of a policy that says how far it may rise over the baseline's.\n"
  print "| figure | unit | better | varies | formats | dashboard | policy | what it is |"
  print "|---|---|---|---|---|---|---|---|"
}
/^TB_FIELD\("/ {
  split($0, cells, ", *")
  path = cells[1]; sub(/^TB_FIELD\(/, "", path)
  help = $0; sub(/"\)$/, "", help); sub(/^.*"/, "", help)
  metric = first(named("METRIC") named("BOUNDED")); if (metric != "" && cells[3] ~ /^(EACH|EVENTS)$/) metric = metric "_*"
  column = named("COLUMN"); sub(/^[0-9]*, */, "", column); column = first(column)
  exact = first(named("EXACT")); if (exact != "") exact = "exact." exact
  printf "| %s | %s | %s | %s | %s | %s | %s | %s |\n", code(path), unit[cells[4]], cells[4] == "WORDS" ? "" : better[cells[5]],
    cells[4] ~ /^(NS|RATIO|BYTES_PER_S|FLOPS_PER_S)$/ ? "yes" : exact != "" ? "no" : "", code(metric), code(column), code(exact), help
}
