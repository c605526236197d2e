// A payload that shows whether payloads are kept byte for byte: a JSON parser that writes it again changes it.

/** Numbers that lose digits, a key that stands twice, escapes, and spaces where nobody needs them. */
export const oddPayload =
  '{ "n":12345678901234567890.10,\t"a" : 1e0 ,"a":[ 1 , 2.0 ],\r\n "payload" : "\\u00e9\\/é" , "__proto__":{ } }'
