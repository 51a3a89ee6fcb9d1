import { glossOf } from "/stage/gloss.js";
import { equal } from "./check.js";

const GLOSSES = { "What is a comet?": "什么是彗星？", "The school garden began with three boxes of soil.": "菜园" };

export const tests = {
  "a prompt is found whole, as the beginning of a text, and with a text before what follows": () => {
    equal(["What is a comet?", "The school garden began with", "What is a comet? Bats find insects"].map((p) => glossOf(p, GLOSSES)),
      ["什么是彗星？", "菜园", "什么是彗星？"]);
  },
  "what a visitor types has none": () => {
    equal(["", "The", "The school", "What is a comet", "toString", "__proto__"].map((p) => glossOf(p, GLOSSES)), ["", "", "", "", "", ""]);
    equal(glossOf("anything", {}), "");
  },
};
