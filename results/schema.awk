# Makes schema.json: awk -f schema.awk fields.def schema.frame. A line `@FIELDS group@` of the frame, the first in an object's
# properties, becomes those of the rows "group.name" whose shape says what is written there. They are never required: older
# documents lack the newer ones.
BEGIN {
  type["WHOLE"] = "\"type\": [\"integer\", \"null\"], \"minimum\": 0"
  type["NUMBER"] = "\"type\": [\"number\", \"null\"], \"minimum\": 0"
  type["SIGNED"] = "\"type\": [\"number\", \"null\"]"
  type["TEXT"] = "\"type\": [\"string\", \"null\"]"
  type["DURATION"] = "\"$ref\": \"#/$defs/duration\""
  type["EACH"] = "\"type\": \"object\", \"additionalProperties\": {\"type\": \"number\", \"minimum\": 0}"
}
FNR == NR {
  if (!/^TB_FIELD\("/) next
  split($0, quoted, "\"")
  split($0, cells, ", *")
  help = $0
  sub(/"\)$/, "", help)
  sub(/^.*"/, "", help)
  if (split(quoted[2], part, ".") == 2 && cells[3] in type)
    fields[part[1]] = fields[part[1]] sprintf("    \"%s\": {%s, \"description\": \"%s\"},\n", part[2], type[cells[3]], help)
  next
}
/@FIELDS [a-z]*@/ { sub(/@$/, "", $2); printf "%s", fields[$2]; next }
{ print }
